"""The clock of the tests, which moves only when a test moves it."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("America/Toronto")
#: Noon in Toronto on 16 November 2026.
START = datetime(2026, 11, 16, 17, 0, tzinfo=UTC)


@dataclass
class Clock:
    """A clock to give to a store: a call returns ``now``, which stays until ``forward(days=1)``."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **delta: float) -> None:
        self.now += timedelta(**delta)

    @property
    def today(self) -> date:
        """The date in Toronto."""
        return self.now.astimezone(ZONE).date()
