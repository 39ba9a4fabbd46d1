"""Charts as SVG that the server makes; bars are in the templates. Colours are classes of the stylesheet; each chart comes with
its numbers in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from markupsafe import Markup

from syncd.domain import Run
from syncd.store import Tx, run_results, runs
from syncd.sync.report import Kinds

#: Days of the chart of jobs, the width of each and the height of all in the chart's own units.
DAYS, STEP, HEIGHT = 90, 8, 160
#: Width and height of the line of a feed's active jobs.
WIDE, TALL = 60, 16
#: Tone of a run → height of its mark; any other has all the height.
MARKS = {"good": 10, "warn": 13, "calm": 5, "wait": 14, "busy": 14}
#: Statuses of the chart, the lowest layer first.
LAYERS = ("active", "draft", "archived")
#: Count of a run → tone of its part of the bar.
PARTS = {
    "created": "good",
    "updated": "info",
    "reactivated": "back",
    "unchanged": "calm",
    "replaced": "dim",
    "suppressed": "dim",
    "expired": "dim",
    "filtered": "dim",
    "rejected": "bad",
}
#: Runs of the chart of rejected rows, rows of a run that are looked at, and kinds with a colour of their own.
RUNS, ROWS = 30, 200
TONES = ("bad", "info", "back", "good")
OTHERS = ("all others", "dim")


def job_chart(days: Mapping[date, Mapping[str, int]], today: date) -> Markup:
    """Return the jobs by status as layers of bars, from the first of the ``days`` on. A day without a number has that of the day
    before. There is none of a single day."""
    first = min(days, default=today)
    series: list[Mapping[str, int]] = []
    for day in range((today - first).days + 1):
        series.append(days.get(first + timedelta(days=day), series[-1] if series else {}))
    highest = max(sum(numbers.values()) for numbers in series)
    if not highest or len(series) == 1:
        return Markup()
    scale, paths, tops = (HEIGHT - 4) / highest, Markup(), [float(HEIGHT)] * len(series)
    for status in LAYERS:
        bars = ""
        for day, numbers in enumerate(series):
            if height := numbers.get(status, 0) * scale:
                tops[day] -= height
                bars += f"M{day * STEP} {tops[day]:.1f}h{STEP}v{height:.1f}h-{STEP}z"
        paths += Markup('<path class="{}" d="{}"/>').format(status, bars) if bars else ""
    now = ", ".join(f"{series[-1].get(status, 0):,} {status}" for status in LAYERS)
    head = Markup(
        '<svg class="jobs" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    )
    return head.format(len(series) * STEP, HEIGHT, f"Jobs by status since {first:%-d %B}: now {now}", paths)


def sparkline(days: Mapping[date, int], today: date, active: int) -> Markup:
    """Return a feed's active jobs over the days that are known, and ``active`` today, as a line; nothing of a single day."""
    numbers = {**days, today: active}
    first, highest = min(numbers), max(numbers.values())
    if first == today or not highest:
        return Markup()
    places = (
        f"{(day - first).days / (today - first).days * WIDE:.0f} {TALL - number / highest * TALL:.0f}"
        for day, number in sorted(numbers.items())
    )
    words = f"{numbers[first]:,} on {first:%-d %B}, {active:,} now, at most {highest:,}"
    svg = Markup('<svg class="line" viewBox="-1 -1 {} {}" role="img"><title>{}</title><path d="M{}"/></svg>')
    return svg.format(WIDE + 2, TALL + 2, words, "L".join(places))


def strip(tones: Sequence[str]) -> Markup:
    """Return runs, the oldest first, as marks whose height and colour say the tone of each."""
    paths = dict.fromkeys(tones, "")
    for place, tone in enumerate(tones):
        paths[tone] += f"M{place * 5 + 2} {TALL}V{TALL - MARKS.get(tone, TALL)}"
    marks = Markup().join(Markup('<path class="{}" d="{}"/>').format(*each) for each in paths.items())
    wide = len(tones) * 5
    return Markup('<svg viewBox="0 0 {} {}" width="{}">{}</svg>').format(wide, TALL, wide, marks)


# -- rejected rows of a feed ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """``bars``: the runs, oldest first, each with the number of its rows by kind; ``kinds``: (name, tone), the most frequent
    first. A row with errors of several kinds counts as the most frequent of them."""

    bars: Sequence[tuple[Run, Counter[str]]]
    kinds: Sequence[tuple[str, str]]

    #: Runs that the chart has room for.
    most = RUNS

    @property
    def highest(self) -> int:
        return max((counts.total() for _, counts in self.bars), default=0)


def rejected_rows(tx: Tx, feed: str) -> RejectedRows:
    """Return the rejected rows of the last runs of the feed, in the shares of the first ``ROWS`` of each run."""
    read = [run for run in runs.newest(tx, feed, RUNS) if run.counts.read]
    by_kind = [(run, _by_kind(tx, run)) for run in reversed(read)]
    total = sum((counts for _, counts in by_kind), Counter[str]())
    named = [name for name, _ in total.most_common(len(TONES))]
    bars = []
    for run, counts in by_kind:
        bar_counts = Counter({name: counts[name] for name in named})
        bar_counts[OTHERS[0]] += counts.total() - bar_counts.total()
        bars.append((run, bar_counts))
    kinds = list(zip(named, TONES, strict=False))
    if any(counts[OTHERS[0]] for _, counts in bars) and OTHERS[0] not in named:
        kinds.append(OTHERS)
    return RejectedRows(bars, kinds)


def _by_kind(tx: Tx, run: Run) -> Counter[str]:
    rejected = run.counts.rejected
    if not rejected:
        return Counter()
    rows, kinds = run_results.some_errors(tx, run.id, ROWS), Kinds()
    of_rows = [kinds.add_errors(0, errors) for errors in rows if errors]
    most = [max((kind for kind, _ in row), key=lambda kind: kind.rows) for row in of_rows]
    looked_at = Counter(f"{kind.pointer or 'whole record'}: {kind.code}" for kind in most)
    share = rejected / max(1, looked_at.total())
    shares = Counter({name: round(count * share) for name, count in looked_at.items()})
    return shares or Counter({OTHERS[0]: rejected})


CHARTS = {"bar_parts": PARTS, "job_chart": job_chart, "sparkline": sparkline, "strip_of": strip}
