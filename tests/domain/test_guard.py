"""The guard: each threshold at its limit, below and above (docs/reconciliation.md "When a run stops short")."""

import pytest

from syncd.domain.decisions import Hold, PlanCounts
from syncd.domain.guard import guard
from syncd.domain.policy import Policy, Threshold


def stop(policy=Policy(), archives=True, **counts):  # noqa: B008
    return guard(PlanCounts(**{"read": 100, "active": 100} | counts), policy, archives=archives)


def test_a_plan_below_every_limit_is_not_held():
    assert stop() is None
    assert stop(missing=3) is None


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        # more than 25 % and at least 5 jobs
        ({"active": 100, "missing": 25}, None),
        ({"active": 100, "missing": 26}, "max_archive"),
        ({"active": 10, "missing": 4}, None),
        ({"active": 10, "missing": 5}, "max_archive"),
        ({"active": 16, "missing": 4}, None),
        ({"active": 20, "missing": 5}, None),
        # all that are active, however few
        ({"active": 1, "missing": 1}, "max_archive"),
        ({"active": 4, "missing": 3, "expired_archives": 1}, "max_archive"),
        ({"active": 4, "missing": 3}, None),
        # what the rows' own dates archive counts too
        ({"active": 100, "missing": 20, "expired_archives": 5}, None),
        ({"active": 100, "missing": 20, "expired_archives": 6}, "max_archive"),
        # with what went in the last 24 hours, on both sides
        ({"active": 81, "missing": 15, "recent_archives": 19}, "max_archive"),
        ({"active": 100, "missing": 10, "recent_archives": 20}, None),
        ({"active": 100, "missing": 11, "recent_archives": 20}, "max_archive"),
        ({"active": 100, "missing": 0, "recent_archives": 90}, None),
        # a row that cannot say which job it is
        ({"missing": 1, "without_reference": 3}, None),
        ({"missing": 1, "without_reference": 4}, "without_reference"),
        ({"read": 400, "missing": 1, "without_reference": 4}, None),
        ({"read": 399, "missing": 1, "without_reference": 4}, "without_reference"),
        ({"missing": 0, "without_reference": 9}, None),
        # settings that changed
        ({"missing": 1, "feed_changed": True}, "feed_changed"),
        ({"expired_archives": 1, "feed_changed": True}, "feed_changed"),
        ({"missing": 0, "feed_changed": True}, None),
        # a file without records
        ({"read": 0, "active": 100, "missing": 100}, "empty"),
        ({"read": 0, "active": 0, "missing": 0}, None),
    ],
)
def test_what_holds_the_archiving(counts, code):
    held = stop(**counts)
    assert (held and held.code) == code
    assert held is None or held.all is False


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        # more than 10 % and at least 5 rows
        ({"read": 100, "rejected": 10}, None),
        ({"read": 100, "rejected": 11}, "max_rejected"),
        ({"read": 5, "rejected": 4}, None),
        ({"read": 5, "rejected": 5}, "max_rejected"),
        # over half missing, at least 5, half of these new again
        ({"active": 100, "missing": 51, "rekeyed": 26}, "rekeyed"),
        ({"active": 100, "missing": 52, "rekeyed": 26}, "rekeyed"),
        ({"active": 8, "missing": 5, "rekeyed": 3}, "rekeyed"),
        # over half of the titles of named, active jobs; at least 5
        ({"named_active": 10, "retitled": 5}, None),
        ({"named_active": 10, "retitled": 6}, "retitled"),
        ({"named_active": 4, "retitled": 4}, None),
        ({"named_active": 9, "retitled": 5}, "retitled"),
        # over half of the descriptions
        ({"described": 10, "shrunk": 5}, None),
        ({"described": 10, "shrunk": 6}, "shrunk"),
        ({"described": 4, "shrunk": 4}, None),
        # a step back in time
        ({"older_bytes": True, "missing": 1, "active": 50}, "older_bytes"),
        ({"older_bytes": True, "expired_archives": 1, "active": 50}, "older_bytes"),
        ({"older_bytes": True, "changed": 4, "read": 39}, "older_bytes"),
        ({"older_bytes": True, "changed": 4, "read": 40}, None),
        ({"older_bytes": True, "changed": 3, "read": 3}, None),
        ({"older_bytes": True, "created": 9}, None),
        # over half of the rows whose jobs were named before have lost a value
        ({"compared": 10, "emptied": {"pay": 6}}, "emptied"),
        ({"compared": 10, "emptied": {"pay": 5, "category": 5}}, None),
        ({"compared": 4, "emptied": {"pay": 4}}, None),
    ],
)
def test_what_holds_everything(counts, code):
    held = stop(**counts)
    assert (held and held.code) == code
    assert held is None or held.all is True


@pytest.mark.parametrize(
    "counts",
    [
        {"active": 100, "missing": 53, "rekeyed": 26},
        {"active": 100, "missing": 50, "rekeyed": 50},
        {"active": 7, "missing": 4, "rekeyed": 4},
    ],
)
def test_what_is_missing_is_not_re_keyed_below_the_limits(counts):
    held = stop(**counts)
    assert held is None or held.code == "max_archive"


def test_a_hold_on_everything_wins_and_several_reasons_are_given_together():
    held = stop(missing=90, rejected=50, older_bytes=True)
    assert (held.all, held.code) == (True, "max_rejected")
    assert "byte for byte" in held.reason
    assert "archived" not in held.reason
    both = stop(missing=90, feed_changed=True)
    assert (both.all, both.code) == (False, "feed_changed")
    assert "settings" in both.reason
    assert "25 %" in both.reason


def test_a_run_that_may_not_archive_is_only_checked_by_its_rows():
    assert stop(archives=False, missing=100, without_reference=5, feed_changed=True) is None
    assert stop(archives=False, read=0, missing=100) is None
    assert stop(archives=False, missing=90, rekeyed=90) is None
    assert stop(archives=False, rejected=50).code == "max_rejected"
    assert stop(archives=False, expired_archives=26).code == "max_archive"


def test_the_reason_has_percent_limit_and_counts():
    assert stop(active=40, missing=30) == Hold(
        False,
        "max_archive",
        "30 of 40 active jobs would be archived (75 %, the limit is 25 % and at least 5)",
    )
    assert stop(active=81, missing=15, recent_archives=19).reason == (
        "34 of 100 active jobs would be archived, with the 19 archived in the last 24 hours "
        "(34 %, the limit is 25 % and at least 5)"
    )
    assert stop(read=90, rejected=11).reason == (
        "11 of 90 rows were rejected (12.2 %, the limit is 10 % and at least 5)"
    )
    assert stop(active=2, missing=2).reason == (
        "all 2 active jobs would be archived (100 %, the limit is 25 % and at least 5)"
    )
    assert stop(active=100_000, missing=99_999).reason.startswith("99999 of 100000 ")
    assert "99.9 %" in stop(active=100_000, missing=99_999).reason


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"active": 8, "missing": 6, "rekeyed": 4}, ["6 of 8", "75 %", "4 of these", "66.7 %", "50 %"]),
        ({"named_active": 8, "retitled": 6}, ["6 of 8", "75 %", "limit is 50 %"]),
        ({"described": 8, "shrunk": 6}, ["6 of 8", "75 %", "limit is 50 %"]),
        ({"missing": 2, "without_reference": 4}, ["4 of 100 rows have", "4 %", "limit is 1 %", "2 of 100"]),
        ({"read": 0, "missing": 100}, ["no records", "100 of 100"]),
    ],
)
def test_every_reason_says_what_would_happen(counts, words):
    reason = stop(**counts).reason
    assert "\n" not in reason
    for word in words:
        assert word in reason


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


def test_limits_are_the_feeds_own():
    tight = Policy(max_archive=Threshold(2.5, 1), max_rejected=Threshold(0, 1), max_retitled=Threshold(10, 1))
    assert stop(tight, missing=3).reason.endswith("(3 %, the limit is 2.5 % and at least 1)")
    assert stop(tight, missing=2) is None
    assert stop(tight, rejected=1).code == "max_rejected"
    assert stop(tight, named_active=100, retitled=11).code == "retitled"
    open_ = Policy(max_archive=Threshold(100, 5))
    assert stop(open_, missing=99) is None
    assert stop(open_, missing=100).code == "max_archive"
