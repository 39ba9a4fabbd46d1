"""The operator's decisions for a feed: its limits and habits (docs/reconciliation.md "When a run stops short")."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from syncd.values import (
    COUNT,
    FLAG,
    PERCENT,
    SIZE,
    Setting,
    SettingKind,
    choice,
    number,
    positive,
    setting,
    settings_field,
)

ROWS = replace(COUNT, unit="rows")


@dataclass(frozen=True, slots=True)
class Threshold:
    """Crossed when the share is above ``percent`` AND at least ``count`` things are concerned."""

    percent: float
    count: int

    def crossed(self, part: int, whole: int) -> bool:
        return part >= self.count and part * 100 > self.percent * whole


def _threshold(default: Threshold, counted: str, doc: str, count_doc: str = "") -> Any:
    """Declare a threshold; ``counted`` is the key of its count, which only files of feeds can change without a ``count_doc``."""
    if not count_doc:
        percent = Setting("", PERCENT, default.percent, doc, per_feed=True)
        return settings_field((percent,), lambda share: Threshold(share, default.count), counted=counted)
    percent = Setting(".percent", PERCENT, default.percent, doc, per_feed=True)
    count = Setting(f".{counted}", ROWS, default.count, count_doc, per_feed=True)
    return settings_field((percent, count), Threshold, counted=counted)


def _of_feeds(kind: SettingKind, default: object) -> Any:
    """Declare a setting that only the file of a feed has."""
    return field(default=kind.parse(default), metadata={"kind": kind})


@dataclass(frozen=True, slots=True)
class Policy:
    """Settings of ``[sync]`` that a feed may override, and settings of feeds alone. Percentages are 0 to 100."""

    mode: Literal["snapshot", "delta"] = _of_feeds(choice("snapshot", "delta"), "snapshot")
    max_archive: Threshold = _threshold(
        Threshold(25, 5),
        "jobs",
        "a run that would archive more of the feed's active jobs waits …",
        "… if it is also at least this many jobs",
    )
    max_rejected: Threshold = _threshold(
        Threshold(10, 5),
        "rows",
        "a file with more rejected rows waits …",
        "… if it is also at least this many rows",
    )
    max_unnamed: Threshold = _threshold(
        Threshold(1, 4),
        "rows",
        "a run that would archive waits if more rows have no readable referenceId …",
        "… if it is also at least this many rows",
    )
    max_rekeyed: Threshold = _threshold(
        Threshold(50, 5),
        "jobs",
        "a file waits if more jobs are missing, and half of these are there with new ids",
    )
    max_retitled: Threshold = _threshold(Threshold(50, 5), "rows", "a file waits if it changes more titles")
    max_shrunk: Threshold = _threshold(
        Threshold(50, 5), "rows", "a file waits if more descriptions lose half of their text or their end"
    )
    max_emptied: Threshold = _threshold(
        Threshold(50, 5),
        "rows",
        "a file waits if more rows lose their pay, category, position type, close date, description, address or status",
    )
    grace: int = setting(
        number(1, 100, "files"),
        1,
        "a job is archived when this many whole files in a row lack it",
        per_feed=True,
    )
    expired: Literal["archive", "ignore"] = setting(
        choice("archive", "ignore"), "archive", "a row whose closeDate has passed", per_feed=True
    )
    on_api_edit: Literal["overwrite", "keep"] = setting(
        choice("overwrite", "keep"),
        "overwrite",
        "a field that a person changed through the API",
        per_feed=True,
    )
    owns: Literal["feed", "employer"] = _of_feeds(choice("feed", "employer"), "feed")
    take_over: bool = _of_feeds(FLAG, False)
    renew: bool = _of_feeds(FLAG, True)
    repeats: Literal["last", "places"] = _of_feeds(choice("last", "places"), "last")


@dataclass(frozen=True, slots=True)
class FeedLimits:
    """``[limits]``: sizes in bytes. A fault names the limit that is exceeded (docs/feeds.md "Formats and limits"). The
    fields below ``rows`` are constants: they bound the memory and the work of a reader, and no feed comes near them."""

    file: int = setting(
        positive(SIZE), "4GiB", "a larger file fails; of a compressed file the expanded size counts"
    )
    record: int = setting(positive(SIZE), "1MiB", "a row with a larger record is rejected")
    rows: int = setting(number(1, 100_000_000, "rows"), 5_000_000, "a file with more records fails")
    #: A longer record fails the file: a reader holds it whole, and cannot tell where the next one begins. At least ``record``.
    text: int = 8 << 20
    #: Levels; deeper nesting fails the file. An XML parser takes 256, Python's stack about a thousand.
    depth: int = 64
    #: A file that expands to more than this many times its size fails: XML expands to 20 times its size, a bomb to 1,000.
    ratio: int = 200
    #: More columns fail a CSV file: each of them costs a value in every row.
    columns: int = 1_000
