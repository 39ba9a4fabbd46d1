"""What commands, the operator's pages and ``--json`` show of feeds, runs and plans: each is made here, once."""

from syncd.sync.report.views.feed_views import (
    count_active_jobs,
    feed_states,
    feed_view,
    feeds_view,
    mapping_lines,
    mapping_view,
    overdue_feeds,
)
from syncd.sync.report.views.job_views import job_view
from syncd.sync.report.views.run_views import first_of_plan, plan_view, revert_view, run_view
