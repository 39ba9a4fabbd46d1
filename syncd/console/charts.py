"""Charts as SVG that the server makes. Colours are classes of the stylesheet; each chart comes with its numbers in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from markupsafe import Markup

#: Width and height of a chart in its own units.
WIDTH, HEIGHT = 720, 160
DAYS = 90
#: Statuses of the chart, the lowest layer first.
LAYERS = ("active", "draft", "archived")
#: Count of a run → tone of its part of the bar.
_PARTS = {
    "created": "good",
    "updated": "info",
    "reactivated": "back",
    "unchanged": "calm",
    "suppressed": "dim",
    "expired": "dim",
    "filtered": "dim",
    "rejected": "bad",
}


def bar(counts: Mapping[str, int]) -> Markup:
    """Return the rows of a run as one bar, a part for each action."""
    parts = [(name, counts[name], tone) for name, tone in _PARTS.items() if counts.get(name)]
    total = sum(number for _, number, _ in parts)
    if not total:
        return Markup()
    words = ", ".join(f"{number:,} {name}" for name, number, _ in parts)
    found, left = Markup(), 0.0
    for name, number, tone in parts:
        width = max(2.0, number / total * 1000)
        found += Markup('<rect class="{}" x="{}" width="{}" height="14"><title>{}</title></rect>').format(
            tone, f"{left:.1f}", f"{width:.1f}", f"{number:,} {name}"
        )
        left += width
    head = Markup(
        '<svg class="bar" viewBox="0 0 {} 14" preserveAspectRatio="none" role="img" aria-label="{}">'
    )
    return head.format(f"{left:.1f}", words) + found + Markup("</svg>")


def job_chart(days: Mapping[date, Mapping[str, int]], today: date) -> Markup:
    """Return the number of jobs by status over the last ``DAYS`` days as layers. A day without a number has that of the day
    before; days before the first number are left empty."""
    first = today - timedelta(days=DAYS - 1)
    series = _filled(days, first, today)
    highest = max((sum(day.values()) for day in series if day), default=0)
    if not highest:
        return Markup()
    paths, floors = Markup(), [0] * len(series)
    for status in LAYERS:
        tops = [floor + (day or {}).get(status, 0) for floor, day in zip(floors, series, strict=True)]
        if tops != floors:
            path = _area(series, floors, tops, highest)
            paths += Markup('<path class="{}" d="{}"/>').format(status, path)
        floors = tops
    last = series[-1] or {}
    words = f"Jobs by status since {first:%-d %B}: now " + ", ".join(
        f"{last.get(status, 0):,} {status}" for status in LAYERS
    )
    head = Markup(
        '<svg class="jobs" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
    )
    return head.format(WIDTH, HEIGHT, words) + paths + Markup("</svg>")


def _filled(
    days: Mapping[date, Mapping[str, int]], first: date, today: date
) -> list[Mapping[str, int] | None]:
    found: list[Mapping[str, int] | None] = []
    known: Mapping[str, int] | None = None
    for step in range((today - first).days + 1):
        known = days.get(first + timedelta(days=step), known)
        found.append(known)
    return found


def _area(series: Sequence[object], floors: Sequence[int], tops: Sequence[int], highest: int) -> str:
    """Return the path of a layer: steps of a day, from the first day that has numbers."""
    step, scale = WIDTH / len(series), (HEIGHT - 4) / highest
    begin = next(place for place, day in enumerate(series) if day)
    upper: list[str] = []
    lower: list[str] = []
    for place in range(begin, len(series)):
        left, right = _short(place * step), _short((place + 1) * step)
        top, floor = (_short(HEIGHT - number * scale) for number in (tops[place], floors[place]))
        upper += [f"{left} {top}", f"{right} {top}"]
        lower += [f"{left} {floor}", f"{right} {floor}"]
    return "M" + "L".join([*upper, *reversed(lower)]) + "Z"


def _short(number: float) -> str:
    return f"{round(number, 1):g}"


CHARTS = {"bar": bar, "job_chart": job_chart}
