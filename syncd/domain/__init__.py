"""The rules of job postings, pure: jobs, bodies, changes and rows of feeds. Nothing here reads a clock or a database."""

from syncd.domain.body import LOCATION_READ_ONLY, check_body, check_reference, other_job
from syncd.domain.catalogue import (
    MAX_CATEGORY_NAME,
    MAX_POSITION_NAME,
    SHOWN_MEMBERS,
    Catalogue,
    CatalogueEntry,
)
from syncd.domain.damage import DAMAGE_BITS, DAMAGED_TEXT, damages, repaired
from syncd.domain.decisions import (
    Change,
    Create,
    Decision,
    Delete,
    Hold,
    Ownership,
    PlanCounts,
    Reject,
    RowAction,
    RowDecision,
    Unchanged,
    Update,
)
from syncd.domain.feed_rows import (
    Likeness,
    Outline,
    decide_row,
    field_digests,
    is_elsewhere,
    is_foreign,
    likeness,
    likeness_of,
    outline,
    row_due,
    with_places_of,
)
from syncd.domain.guard import MAX_REPAID, MIN_UNSAID, guard, why_held, write_failed
from syncd.domain.html import HTML_SCHEMES, HTML_TAGS, html_faults
from syncd.domain.job import (
    Actor,
    ActorKind,
    ArchivedBy,
    CloseOrigin,
    Employer,
    Job,
    JobInput,
    Location,
    Moment,
    Place,
    Salary,
    Status,
    exact,
)
from syncd.domain.job_fields import (
    ADDRESSES,
    ATTRIBUTES,
    CHANGEABLE,
    FIELD,
    FIELDS,
    HEADER_MEMBERS,
    INT32_MAX,
    INT32_MIN,
    JOB_MEMBERS,
    LEFT_OUT_BY,
    OWN_BITS,
    OWN_VALUES,
    READ_ONLY,
    SALARY_MEMBERS,
    FieldKind,
    JobField,
    Needed,
    Routing,
    fields_of,
)
from syncd.domain.lifecycle import (
    PastChange,
    decide,
    decide_close,
    decide_missing,
    decide_refresh,
    decide_revert,
)
from syncd.domain.places import (
    MAX_PLACE_DESCRIPTION,
    MAX_PLACE_NAME,
    PROVINCES,
    place_aliases,
    place_key,
    place_words,
    province_code,
    split_code,
)
from syncd.domain.policy import FeedLimits, Policy, Threshold
from syncd.domain.run import (
    API_FEED,
    MAX_LISTED_NAMES,
    TROUBLES_OF_FILES,
    FeedWarning,
    HoldScope,
    Notice,
    NoticeEvent,
    RejectedRow,
    Run,
    RunCounts,
    RunKind,
    RunProgress,
    RunState,
    Shape,
    UnknownValues,
    notice_of,
    takes_place,
)
from syncd.domain.scalar_readers import AMOUNT_BELOW, AMOUNT_DECIMALS, check_line
from syncd.domain.text import MAX_NAME_CHARACTERS, fold, name_key, near_names, unescape
