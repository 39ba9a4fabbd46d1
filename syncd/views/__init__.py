"""What commands, the operator's pages and ``--json`` show of feeds, runs and plans: each is made here, once."""

from syncd.views.feeds import (
    count_active_jobs,
    feed_states,
    feed_view,
    feeds_view,
    mapping_lines,
    mapping_view,
    overdue_feeds,
)
from syncd.views.jobs import job_view
from syncd.views.runs import first_of_plan, plan_view, revert_view, run_view
