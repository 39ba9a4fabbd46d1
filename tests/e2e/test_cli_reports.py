"""What the commands about files and runs show: true totals, what to paste first, feeds that do not exist."""

import pytest

from tests.e2e.conftest import EMPLOYER, row


@pytest.fixture
def acme(acme):
    acme.feed("welders", f'employer = "{EMPLOYER}"\nmax_rejected = {{ percent = 100, rows = 5 }}\n')
    return acme


def test_a_check_says_what_is_wrong_and_what_to_paste_before_it_lists_rows(acme):
    bad = [[*row(f"r{n}")[:3], ["Alchemy", "Magic"][n % 2], *row("x")[4:]] for n in range(90)]
    file = acme.file("jobs.csv", [row("good"), *bad])
    shown = acme.run("feed", "check", "welders", str(file))
    lines = shown.out.splitlines()
    assert len(lines) < 40
    assert "45 ×" in shown.out
    assert lines.index("rejected rows: 90") + 22 == len(lines)
    assert lines[-1] == "  … and 70 more: --json has them"
    found = acme.run("feed", "check", "welders", str(file), "--json").json
    assert len(found["rejectedRows"]) == 90
    assert [cause["rows"] for cause in found["kinds"][0]["causes"]] == [45, 45]


def test_the_json_of_a_run_has_all_rejected_rows(acme):
    acme.deliver(
        "jobs.csv", feed="welders", rows=[row("good"), *([f"r{n}", "", *row("x")[2:]] for n in range(10_050))]
    )
    found = acme.run("runs", "show", "1", "--json").json
    assert len(found["rejectedRows"]) == found["counts"]["rejected"] == 10_050
    shown = acme.run("runs", "show", "1").out
    assert "10,050 ×" in shown
    assert "rejected rows: 10,050" in shown
    assert "… and 10,030 more: --json has them" in shown
