"""What the service does not do yet as the documents say. The schedules leave it out, or do not check it."""

from __future__ import annotations

#: Name -> what is left out.
NOT_YET: dict[str, str] = {
    "superseding": "a file that gives its place to a newer one is run after all if the newer one cannot be used",
    "dead imports": "a command that imports a file first finishes what a dead process of the feed left claimed",
    "caught errors": "an error that was caught does not count as a death of the process",
}
