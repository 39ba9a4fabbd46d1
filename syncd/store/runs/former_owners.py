"""Owners of jobs that runs changed, as they were before: what a revert needs (docs/reconciliation.md "Reverting a run")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlmodel import col

from syncd.store.model import Columns, FeedJob, FeedSent, JobRow, RunOwner, Statement, among, matching
from syncd.store.transactions import Tx


class FormerOwner(NamedTuple):
    """An owner that a run changed. ``feed_id``: before it, ``left_id``: after it, ``now_id``: now; None: no feed.
    ``job_version`` and ``sent`` are what was known of the former owner."""

    job_id: int
    feed_id: int | None
    left_id: int | None
    now_id: int | None
    job_version: int | None
    sent: str | None


def _remembering(insert: Any) -> Any:
    names = ["run_id", "job_id", "feed_id", "left_id", "job_version", "sent"]
    found = (
        sa.select(
            bindparam("run_id", type_=sa.Integer),
            col(JobRow.id),
            col(FeedJob.feed_id),
            bindparam("left_id", type_=sa.Integer),
            col(FeedJob.job_version),
            col(FeedSent.sent),
        )
        .outerjoin(FeedJob, col(FeedJob.job_id) == JobRow.id)
        .outerjoin(FeedSent, col(FeedSent.job_id) == JobRow.id)
        .where(among(JobRow.id, "ids"))
    )
    new = insert(RunOwner).from_select(names, found)
    return new.on_conflict_do_update(index_elements=names[:2], set_={"left_id": new.excluded.left_id})


_REMEMBER: Statement[Any] = Statement(_remembering)
_FORMER = Statement(
    Columns(FormerOwner, RunOwner, now_id=FeedJob.feed_id)
    .select()
    .outerjoin(FeedJob, col(FeedJob.job_id) == RunOwner.job_id)
    .where(*matching(RunOwner.run_id), among(RunOwner.job_id, "ids"))
)


def remember(tx: Tx, run_id: int | None, job_ids: Sequence[int], *, left_id: int | None) -> None:
    """Note who owns these jobs before the run ``run_id`` changes it; of two changes the first counts."""
    if run_id is not None and job_ids:
        tx.run(_REMEMBER, run_id=run_id, left_id=left_id, ids=job_ids)


def changed_by(tx: Tx, run_id: int, job_ids: Sequence[int]) -> dict[int, FormerOwner]:
    """Return by job id the owners that the run changed."""
    return {found.job_id: found for found in tx.all(_FORMER, run_id=run_id, ids=job_ids)} if job_ids else {}
