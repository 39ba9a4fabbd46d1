"""Jobs as the store keeps them: read, listed, and changed by ``apply`` alone. ``upsert`` applies the body of a request."""

from syncd.store.jobs.reading import (
    JobView,
    after,
    by_ids,
    by_reference,
    by_references,
    by_status,
    count,
    days_since,
    due_close,
    due_refresh,
    get,
    names,
    near_page,
    note_day,
    page,
    shared_urls,
    shown,
    totals,
)
from syncd.store.jobs.writing import action_of, apply
