"""Jobs as the store keeps them: read, listed, and changed by ``apply`` alone. What a client sent is applied by ``upsert``; how
many there were on each day is in ``daily_counts``."""

from syncd.store.jobs.reading import (
    JobView,
    after,
    by_ids,
    by_reference,
    by_references,
    count,
    due_close,
    due_refresh,
    get,
    names,
    near_page,
    page,
    shared_urls,
    shown,
    totals,
)
from syncd.store.jobs.writing import action_of, apply
