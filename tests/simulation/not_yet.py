"""What the service does not do yet as the documents say. The schedules leave it out, or do not check it."""

from __future__ import annotations

#: Name -> what is left out.
NOT_YET: dict[str, str] = {}
