"""What happens to jobs by the calendar alone: auto-refresh, and archiving after the close date."""

from syncd.sync.calendar.clock_check import ClockCheck
from syncd.sync.calendar.refresher import Refresher, RefreshResult

__all__ = ["ClockCheck", "RefreshResult", "Refresher"]
