"""Rejected rows by kind over the last runs of a feed, as a chart with a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from syncd.domain import Run
from syncd.store import Tx, results, runs
from syncd.sync.report import Kinds

#: Runs of the chart, rejected rows of a run that are looked at, and kinds with a colour of their own.
RUNS, ROWS = 30, 200
TONES = ("bad", "info", "back", "good")
OTHERS = ("all others", "dim")
_HEIGHT, _WIDTH, _GAP = 120, 24, 4


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """``bars``: the runs, oldest first, each with the number of its rows by kind; ``kinds``: (name, tone), the most frequent
    first. A row with errors of several kinds counts as the most frequent of them."""

    bars: Sequence[tuple[Run, Counter[str]]]
    kinds: Sequence[tuple[str, str]]

    @property
    def svg(self) -> Markup:
        """The chart; empty if no row was rejected."""
        if not self.kinds:
            return Markup()
        highest = max(counts.total() for _, counts in self.bars)
        width = len(self.bars) * _WIDTH
        head = Markup(
            '<svg class="jobs" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
        )
        words = f"Rejected rows by kind in the last {len(self.bars)} runs; the table below has the numbers"
        parts = Markup().join(self._bar(place, highest) for place in range(len(self.bars)))
        return head.format(width, _HEIGHT, words) + parts + Markup("</svg>")

    def _bar(self, place: int, highest: int) -> Markup:
        run, counts = self.bars[place]
        found, top = Markup(), float(_HEIGHT)
        for name, tone in self.kinds:
            height = counts[name] / highest * (_HEIGHT - 4)
            if height:
                top -= height
                found += Markup(
                    '<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>'
                ).format(
                    tone,
                    place * _WIDTH,
                    f"{top:.1f}",
                    _WIDTH - _GAP,
                    f"{height:.1f}",
                    f"run {run.id}: {counts[name]:,} {name}",
                )
        return found


def rejected_rows(tx: Tx, feed: str) -> RejectedRows:
    """Return the rejected rows of the last runs of the feed. Of each run the first ``ROWS`` are looked at; all rejected rows are
    counted in their shares."""
    found = [run for run in runs.list(tx, feed, RUNS) if run.counts.read][::-1]
    bars = [(run, _by_kind(tx, run)) for run in found]
    total: Counter[str] = Counter()
    for _, counts in bars:
        total.update(counts)
    own = [name for name, rows in total.most_common(len(TONES)) if rows]
    shown = [(run, _with_others(counts, own)) for run, counts in bars]
    kinds = list(zip(own, TONES, strict=False))
    if any(counts[OTHERS[0]] for _, counts in shown):
        kinds.append(OTHERS)
    return RejectedRows(shown, kinds)


def _by_kind(tx: Tx, run: Run) -> Counter[str]:
    rejected = run.counts.rejected
    if not rejected:
        return Counter()
    rows, kinds = results.some_errors(tx, run.id, ROWS), Kinds()
    of_rows = [kinds.add_errors(0, errors) for errors in rows if errors]
    looked_at = Counter(_name(max((kind for kind, _ in row), key=lambda kind: kind.rows)) for row in of_rows)
    share = rejected / max(1, looked_at.total())
    found = Counter({name: round(count * share) for name, count in looked_at.items()})
    return found or Counter({OTHERS[0]: rejected})


def _name(kind: object) -> str:
    pointer, code = getattr(kind, "pointer", ""), getattr(kind, "code", "")
    return f"{pointer or 'whole record'}: {code}"


def _with_others(counts: Counter[str], own: Sequence[str]) -> Counter[str]:
    found = Counter({name: counts[name] for name in own if counts[name]})
    rest = counts.total() - found.total()
    return found + Counter({OTHERS[0]: rest}) if rest else found
