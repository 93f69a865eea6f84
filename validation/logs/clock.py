"""The time of a log's lines: stamps turned into microseconds, and not believed when nothing confirms them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_US: Final = 86_400 * 10**6
_HOUR_US: Final = 3_600 * 10**6
"""Most time that a line waits to be written under the DB mutex."""
_DISORDER_US: Final = 5 * 10**6
"""Threads write their lines microseconds out of order."""


class Clock:
    """Turns stamps into microseconds, remembers the last one for lines that have none, and does not believe jumps at once."""

    def __init__(self) -> None:
        self.last_us = 0
        self.first_us: int | None = None
        """Earliest stamp that was believed."""
        self.latest_us: int | None = None
        """Latest stamp that was believed."""
        self.wrapped = False
        """Whether lines carry a host program's stamp in place of RocksDB's."""
        self.own = False
        """Whether lines carry RocksDB's own stamp."""
        self.unreadable = 0
        """Stamps that are no time, or a time that nothing near them confirms."""
        self.backwards = 0
        """Places where time runs backwards."""
        self.shift_us = 0
        """How far the local clock has been set forward since the log began (summer time): taken off all stamps."""
        self._accepted = 0
        self._suspect_us: int | None = None
        self._minutes: dict[str, int] = {}

    @property
    def any(self) -> bool:
        """Whether any line had a stamp."""
        return self._accepted > 0

    def read(self, stamp: str) -> tuple[int, int]:
        """A line's own stamp: (the time that is believed, what it says), as if it were UTC.

        A stamp more than a day away from the one before is believed once the next one confirms it; what is no time, or is
        not believed, gives the last time.
        """
        time_us = self._parse(stamp)
        if time_us is None:
            self.unreadable += 1
            return self.last_us, self.last_us
        if self.any and abs(time_us - self.last_us) > _DAY_US:
            if self._suspect_us is None or abs(time_us - self._suspect_us) > _DAY_US:
                self._suspect_us = time_us
                self.unreadable += 1
                return self.last_us, time_us
            self.unreadable -= 1
            if self._accepted == 1:  # the first stamp of all was the wrong one
                self.unreadable += 1
                self.first_us = self.latest_us = time_us
        elif self.any and time_us < self.last_us - _DISORDER_US:
            self.backwards += 1
        self._accept(time_us)
        return time_us, time_us

    def original(self, stamp: str, written_us: int) -> int:
        """The time of creation of a line that was written later; the time of writing if that cannot be."""
        time_us = self._parse(stamp)
        if time_us is None or not written_us - _HOUR_US <= time_us <= written_us + _DISORDER_US:
            self.unreadable += 1
            return written_us
        self.first_us = time_us if self.first_us is None else min(self.first_us, time_us)
        return time_us

    def confirm(self, time_us: int) -> None:
        """Another witness, an event's own time, confirms a stamp that was not believed."""
        if self._suspect_us is not None:
            self.unreadable -= 1
            self._accept(time_us)

    def shift(self, by_us: int) -> None:
        """The local clock was set forward by so much; the last lines are in the new time already."""
        self.shift_us += by_us
        self.last_us -= by_us
        self.latest_us = self.last_us

    def _accept(self, time_us: int) -> None:
        self._suspect_us = None
        self._accepted += 1
        self.last_us = time_us
        self.first_us = time_us if self.first_us is None else min(self.first_us, time_us)
        self.latest_us = time_us if self.latest_us is None else max(self.latest_us, time_us)

    def _parse(self, stamp: str) -> int | None:
        minute = self._minutes.get(stamp[:16])
        seconds = int(stamp[17:19])
        if minute is None:
            try:
                whole = datetime.strptime(stamp[:16], "%Y/%m/%d-%H:%M").replace(tzinfo=UTC) - _EPOCH
            except ValueError:
                return None
            minute = self._minutes[stamp[:16]] = (whole.days * 86_400 + whole.seconds) * 10**6
        return minute + seconds * 10**6 + int(stamp[20:26]) - self.shift_us if seconds <= 60 else None
