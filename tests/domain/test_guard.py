"""The arithmetic of the guard at limits that files of a few rows do not reach. tests/sync/run/test_guard.py has each rule with
files (docs/reconciliation.md "When a run stops short")."""

import pytest

from syncd.domain.decisions import PlanCounts
from syncd.domain.guard import guard
from syncd.domain.policy import Policy


def stop(archives=True, **counts):
    return guard(PlanCounts(**{"read": 100, "active": 100} | counts), Policy(), archives=archives)


@pytest.mark.parametrize(("counts", "code"), [
    ({"missing": 20, "expired_archives": 5}, None),  # the dates of rows count, too
    ({"missing": 20, "expired_archives": 6}, "max_archive"),
    ({"active": 4, "missing": 3, "expired_archives": 1}, "max_archive"),
    ({"active": 81, "missing": 15, "recent_archives": 19}, "max_archive"),  # the last 24 hours count on both sides
    ({"missing": 10, "recent_archives": 20}, None),
    ({"missing": 11, "recent_archives": 20}, "max_archive"),
    ({"recent_archives": 90}, None),
    ({"expired_archives": 1, "feed_changed": True}, "feed_changed"),
    ({"feed_changed": True}, None),
    ({"missing": 52, "rekeyed": 26}, "rekeyed"),  # half of those that are missing, which are over half
    ({"missing": 53, "rekeyed": 26}, "max_archive"),
    ({"missing": 50, "rekeyed": 50}, "max_archive"),
    ({"active": 7, "missing": 4, "rekeyed": 4}, None),
    ({"older_bytes": True, "missing": 1}, "older_bytes"),
    ({"older_bytes": True, "expired_archives": 1}, "older_bytes"),
    ({"older_bytes": True, "changed": 4, "read": 39}, "older_bytes"),
    ({"older_bytes": True, "changed": 4, "read": 40}, None),
    ({"older_bytes": True, "changed": 3, "read": 3}, None),
    ({"older_bytes": True, "created": 9}, None),
    ({"compared": 10, "emptied": {"pay": 5, "category": 5}}, None),  # each value by itself
    ({"compared": 4, "emptied": {"pay": 4}}, None),
])  # fmt: skip
def test_what_holds_a_run(counts, code):
    held = stop(**counts)
    assert (held and held.code) == code


def test_a_run_that_may_not_archive_is_only_checked_by_its_rows():
    assert stop(archives=False, missing=100, without_reference=5, feed_changed=True) is None
    assert stop(archives=False, read=0, missing=100) is None
    assert stop(archives=False, missing=90, rekeyed=90) is None
    assert stop(archives=False, rejected=50).code == "max_rejected"
    assert stop(archives=False, expired_archives=26).code == "max_archive"


def test_a_share_that_leaves_some_is_never_shown_as_100_percent():
    assert stop(active=100_000, missing=99_999).reason.startswith("99999 of 100000 active jobs")
    assert "(99.9 %, the limit is 25 % and at least 5)" in stop(active=100_000, missing=99_999).reason


def test_the_reason_of_a_hold_on_the_archiving_has_each_number_and_each_limit_once():
    assert stop(active=81, missing=15, recent_archives=19).reason == (
        "15 of 81 active jobs would be archived (18.5 %, with the 19 archived in the last 24 hours it is 34 %, "
        "the limit is 25 % and at least 5)"
    )
    assert stop(active=2, missing=2).reason == "all 2 active jobs would be archived"
    assert stop(active=8, missing=2, read=0, feed_changed=True).reason == (
        "the file has no records; the feed's settings have changed; 2 of 8 active jobs would be archived (25 %)"
    )
    assert stop(active=8, missing=8, feed_changed=True).reason == (
        "the feed's settings have changed; 8 of 8 active jobs would be archived (100 %, the limit is 25 % and at least 5)"
    )


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"created": 1, "missing": 1}, "1 job would be new, 1 gone"),
        ({"created": 2, "changed": 3, "missing": 4, "expired_archives": 1}, "2 jobs would be new, 3 changed, 5 gone"),
        ({"missing": 2}, "2 jobs would be gone"),
    ],
)  # fmt: skip
def test_the_reason_of_a_hold_on_everything_says_what_is_not_applied(counts, words):
    reason = stop(older_bytes=True, **counts).reason
    assert reason.partition("a step back in time")[2] == f"; nothing is applied: {words}"
