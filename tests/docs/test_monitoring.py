"""The alert rules and the dashboard of docs/deploy, and what docs/operations.md says of the alerts."""

import json
import re
import subprocess
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml

from syncd.service.configured_feeds import FeedsInForce
from syncd.service.metrics import Metrics
from syncd.store import Store
from syncd.web import RequestTimes
from tests.amounts import nightly

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "docs" / "deploy"
RULES = {
    rule["alert"]: rule
    for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
}
PANELS = json.loads((DEPLOY / "dashboard.json").read_text())["panels"]
EXPRESSIONS = {
    **{name: rule["expr"] for name, rule in RULES.items()},
    **{panel["title"]: target["expr"] for panel in PANELS for target in panel["targets"]},
}
OF_A_FEED = '{instance="a", job="syncd", feed="acme"}'
#: Alert → what Prometheus has (a value a minute), after how many minutes the alert fires, and before which it does not.
FIRES = {
    "SyncdDown": ({'up{instance="a", job="syncd"}': "1x4 0x20"}, "10m", "4m"),
    "SyncdRestarts": (
        {'process_start_time_seconds{instance="a", job="syncd"}': "1x4 2x4 3x4 4x20"}, "20m", "4m"
    ),
    "SyncdFeedDegraded": ({f"syncd_feed_degraded{OF_A_FEED}": "0x4 1x20"}, "15m", "8m"),
    "SyncdFeedSilent": (
        {
            f"syncd_feed_last_success_timestamp{OF_A_FEED}": "-172200x30",
            f"syncd_feed_paused{OF_A_FEED}": "0x30",
        },
        "12m", "8m",
    ),
    "SyncdFeedPaused": ({f"syncd_feed_paused{OF_A_FEED}": "1x1600"}, "25h", "23h"),
    "SyncdRunHeld": (
        {'syncd_runs_total{instance="a", feed="acme", state="held"}': "_x4 1x20"}, "10m", "3m"
    ),
    "SyncdRunFailed": (
        {'syncd_runs_total{instance="a", feed="acme", state="failed"}': "1x100 2x100"}, "105m", "95m"
    ),
    "SyncdRowsRejected": (
        {
            'syncd_rows_total{instance="a", feed="acme", action="rejected"}': "0+2x100",
            'syncd_rows_total{instance="a", feed="acme", action="unchanged"}': "0+10x100",
        },
        "60m", "0m",
    ),
    "SyncdServerErrors": (
        {
            'syncd_http_request_seconds_count{instance="a", status="500"}': "0x20 0+5x30",
            'syncd_http_request_seconds_count{instance="a", status="200"}': "0+100x50",
        },
        "40m", "20m",
    ),
    "SyncdSlow": (
        {
            'syncd_http_request_seconds_bucket{instance="a", le="1.0"}': "0+90x60",
            'syncd_http_request_seconds_bucket{instance="a", le="2.5"}': "0+100x60",
            'syncd_http_request_seconds_bucket{instance="a", le="+Inf"}': "0+100x60",
        },
        "30m", "10m",
    ),
    "SyncdNotificationsDropped": (
        {'syncd_notifications_total{instance="a", result="dropped"}': "_x20 1x40"}, "40m", "15m"
    ),
    "SyncdFewFiles": (
        {
            'process_open_fds{instance="a", job="syncd"}': "100x10 900x20",
            'process_max_fds{instance="a", job="syncd"}': "1000x30",
        },
        "20m", "12m",
    ),
}  # fmt: skip
#: Metrics that Prometheus adds.
OF_PROMETHEUS = {"up"}


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The names of all series that syncd has."""
    with Store.open(
        f"sqlite:///{tmp_path_factory.mktemp('known')}/syncd.db", timezone=ZoneInfo("UTC")
    ) as store:
        feeds = FeedsInForce()
        _, body = Metrics(store, feeds, RequestTimes()).render("")
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", body.decode(), re.MULTILINE))
    ends = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}
    return {name + end for name, kind in kinds.items() for end in ends.get(kind, ("",))}


@pytest.mark.parametrize("where", EXPRESSIONS)
def test_every_metric_of_the_rules_and_the_dashboard_is_one_of_syncd(known, where):
    used = set(re.findall(r"\b(?:syncd|process)_\w+|\bup\b", EXPRESSIONS[where]))
    assert used
    assert used - known <= OF_PROMETHEUS


def test_each_alert_has_a_severity_a_summary_and_something_to_do():
    section = (
        (ROOT / "docs" / "operations.md").read_text().partition("\n## Alerts\n")[2].partition("\n## ")[0]
    )
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    assert {row[1].strip(" `"): row[2].strip() for row in rows} == {
        name: rule["labels"]["severity"] for name, rule in RULES.items()
    }
    assert all(len(row[3].split()) > 8 for row in rows)
    assert all(rule["annotations"]["summary"] for rule in RULES.values())


def test_promtool_finds_nothing_wrong_with_the_rules(program):
    command = [program("promtool"), "check", "rules", str(DEPLOY / "alerts.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert f"{len(RULES)} rules found" in done.stdout


@nightly
def test_each_alert_fires_when_it_should_and_not_before(program, tmp_path):
    assert set(FIRES) == set(RULES)
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [
                {
                    "expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)',
                    "eval_time": time,
                    "exp_samples": [{"value": value, "labels": "{}"}],
                }
                for time, value in ((late, 1), (early, 0))
            ],
        }
        for alert, (series, late, early) in FIRES.items()
    ]
    (tmp_path / "tests.yml").write_text(
        yaml.safe_dump(
            {"rule_files": [str(DEPLOY / "alerts.yml")], "evaluation_interval": "1m", "tests": tests}
        )
    )
    command = [program("promtool"), "test", "rules", str(tmp_path / "tests.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
