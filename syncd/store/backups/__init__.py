"""Backups as files, and what is lost when one takes the place of the store. What a backup is, each database knows itself
(``Database.backup``)."""

from syncd.store.backups.drafts import draft_folder, flush
from syncd.store.backups.files import name_at, remove_oldest, write
from syncd.store.backups.losses import KeySummary, Losses, RunSummary, compare
from syncd.store.backups.notes import Contents, Note, read_note, verified

__all__ = [
    "Contents",
    "KeySummary",
    "Losses",
    "Note",
    "RunSummary",
    "compare",
    "draft_folder",
    "flush",
    "name_at",
    "read_note",
    "remove_oldest",
    "verified",
    "write",
]
