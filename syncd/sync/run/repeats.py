"""Valid rows of one referenceId: the last one counts (docs/reconciliation.md "Counting"). The feed may have the others give it
their places."""

from collections.abc import Sequence
from itertools import chain, islice, starmap

from syncd.domain import is_elsewhere, with_places_of
from syncd.feeds.drafting import texts_in, ways_for_languages
from syncd.sync.run.context import FileRun, Summary
from syncd.sync.run.stage import Stage
from syncd.sync.validation import pack, unpack
from syncd.values import plural

#: Pairs of records whose bodies are in memory at once, and the most pairs that are compared in a run.
MAX_PAIRS, MAX_COMPARED = 200, 10_000


def merge_places(stage: Stage) -> None:
    """Make one row of those of each referenceId that are equal in all but their places (``repeats = "places"``)."""
    for numbers in stage.rows.repeated():
        *earlier, (last, row) = [
            (number, unpack(body)) for number, body in sorted(stage.rows.bodies_of(numbers).items())
        ]
        equal = [(number, sent) for number, sent in earlier if is_elsewhere(sent, row)]
        if equal:
            merged = with_places_of([sent for _, sent in equal], row)
            stage.rows.merge([*(number for number, _ in equal), last], pack(merged))


def warn_of_repeats(this: FileRun, stage: Stage, summary: Summary) -> None:
    """Add a warning for each replaced record that has another content than the one that counts, and one for all that have the
    same posting at another place."""
    elsewhere = compared = 0
    first: list[tuple[str, int, int]] = []
    replaced = stage.rows.replaced()
    while some := list(islice(replaced, MAX_PAIRS)):
        first += some[: MAX_PAIRS - len(first)]
        for reference, number, by in some:
            named_in, member = map(summary.member_of, (number, by))
            named = f"{by} (in {member})" if named_in != member else by
            detail = f"record {named} has the referenceId {reference!r}, too: the last valid one counts"
            this.warnings.add("duplicate_reference", detail, number, reference, named_in)
        if compared < MAX_COMPARED:
            compared += len(some)
            bodies = stage.rows.bodies_of({*chain.from_iterable(pair for _, *pair in some)})
            sents = {number: unpack(body) for number, body in bodies.items()}
            elsewhere += sum(
                number in sents and by in sents and is_elsewhere(sents[number], sents[by])
                for _, number, by in some
            )
    if elsewhere:
        count = f"{'at least ' if compared >= MAX_COMPARED else ''}{plural(elsewhere, 'record')}"
        detail = (
            f"one posting at several places: {count} replaced by a later one that differs in its locations alone"
            '; repeats = "places" in the feed\'s file makes one posting with the first three places'
        )
        this.warnings.add("locations_replaced", detail)
    if first and (languages := _languages(this, summary, first)) is not None:
        this.warnings.add_first("languages_replaced", languages)


def _languages(this: FileRun, summary: Summary, pairs: Sequence[tuple[str, int, int]]) -> str | None:
    """Return the sentence about the column or member that names the language of these records, if one does and differs."""
    wanted = {number for _, *pair in pairs for number in pair}
    reader = this.reader(lambda digests: ())
    texts: dict[int, dict[str, str]] = {}
    for record in islice(reader, MAX_COMPARED):
        if record.number in wanted and record.item is not None:
            texts[record.number] = texts_in(record.item, summary.form, reader.header or ())
            if len(texts) == len(wanted):
                break
    there = ((ref, texts[one], texts[other]) for ref, one, other in pairs if {one, other} <= texts.keys())
    return next(filter(None, starmap(ways_for_languages, there)), None)
