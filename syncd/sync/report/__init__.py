"""Reports of runs as data. The files that are made of them are in ``syncd.sync.report.files``."""

from syncd.sync.report.json_forms import (
    APPLIED_BEFORE,
    change_json,
    employer_json,
    fields_json,
    header_json,
    instant_json,
    key_json,
    paging_json,
    particulars,
    rejected_json,
    rekey_json,
    run_json,
    shape_json,
    summary_json,
    unknown_json,
    warning_json,
    would_archive_json,
)
from syncd.sync.report.kinds import Kind, Kinds
from syncd.sync.report.letter import Letter, letter_for, letter_of, note_letter
from syncd.sync.report.reports import (
    REKEY,
    ShownPlan,
    for_partner,
    plan_of,
    rekeyed_counts,
    rekeys_of,
    whole_report,
    would_archive_of,
    write_json,
)
from syncd.sync.report.sentences import reasons
