"""Times of a LOG's lines: conversion of time stamps to microseconds, and rejection of unconfirmed stamps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAY_US: Final = 86_400 * 10**6
_HOUR_US: Final = 3_600 * 10**6
"""Longest time that a line logged under the DB mutex waits to be written."""
_STEPS_US: Final = tuple(10 ** (6 - digits) for digits in range(6))
"""Resolution of a stamp by the number of digits after its seconds."""
DISORDER_US: Final = 5 * 10**6
"""Largest step back in time that is not counted: threads write their lines slightly out of order."""


class Clock:
    """Converter of time stamps to microseconds.

    A line without a stamp gets the time of the last accepted stamp. A stamp that jumps by more than a day is accepted
    only once a second one confirms it.
    """

    def __init__(self) -> None:
        self.last_us = 0
        """Last accepted stamp."""
        self.first_us: int | None = None
        """Earliest accepted stamp."""
        self.latest_us: int | None = None
        """Latest accepted stamp."""
        self.step_us = 1
        """Coarsest resolution of a stamp: 1,000,000 for whole seconds."""
        self.exact_us = 0
        """Local time of the last event by its own time_micros. A later line with a coarse stamp is not before it."""
        self.unreadable = 0
        """Number of stamps that are not a valid time, or a jump that no other stamp confirms."""
        self.backwards = 0
        """Number of places where time runs backwards."""
        self.rises = self.falls = 0
        """Numbers of stamps that are later and earlier than the one before."""
        self.shift_us = 0
        """Time by which the local clock was set forward since the LOG began (summer time); subtracted from all
        stamps."""
        self.cut_us = 0
        """Time for which there is no LOG; subtracted from all stamps, so that times run over the LOG's files only."""
        self._accepted = 0
        self._suspect_us: int | None = None
        self._minutes: dict[str, int] = {}

    @property
    def any(self) -> bool:
        """Whether any line had a stamp."""
        return self._accepted > 0

    def read(self, stamp: str) -> tuple[int, int]:
        """Convert a line's own stamp to (accepted time, time in the stamp), in microseconds as if the stamp were UTC.

        A stamp more than a day away from the one before is accepted once the next stamp confirms it. Until then, and
        for a stamp that is not a valid time, the accepted time is the last accepted one.
        """
        time_us = self._parse(stamp)
        if time_us is None:
            self.unreadable += 1
            return self.last_us, self.last_us
        if self.any and abs(time_us - self.last_us) > DAY_US:
            if self._suspect_us is None or abs(time_us - self._suspect_us) > DAY_US:
                self._suspect_us = time_us
                self.unreadable += 1
                return self.last_us, time_us
            self.unreadable -= 1
            if self._accepted == 1:  # the very first stamp was wrong
                self.unreadable += 1
                self.first_us = self.latest_us = time_us
        elif self.any and time_us < self.last_us - DISORDER_US:
            self.backwards += 1
        self._accept(time_us)
        return self._after_event(time_us), time_us

    def original(self, stamp: str, written_us: int) -> int:
        """Convert the "Original Log Time" of a line that was written later; `written_us` if it is not plausible."""
        time_us = self._parse(stamp)
        if time_us is None or not written_us - _HOUR_US <= time_us <= written_us + DISORDER_US:
            self.unreadable += 1
            return written_us
        self.first_us = time_us if self.first_us is None else min(self.first_us, time_us)
        return self._after_event(time_us)

    def _after_event(self, time_us: int) -> int:
        """Return the time of a line whose stamp is coarse: not before the event that precedes it in the file."""
        return self.exact_us if self.step_us > 1 and 0 < self.exact_us - time_us < self.step_us else time_us

    def confirm(self, time_us: int) -> None:
        """Accept the rejected stamp, because the time_micros of its event agrees with it."""
        if self._suspect_us is not None:
            self.unreadable -= 1
            self._accept(time_us)

    def shift(self, by_us: int) -> None:
        """Record that the local clock was set forward by `by_us`; the last lines have the new time already."""
        self.shift_us += by_us
        self.last_us -= by_us
        self.latest_us = self.last_us

    def cut(self, by_us: int) -> None:
        """Leave out a time for which there is no LOG: `by_us` before the next stamp."""
        self.cut_us += by_us

    def stated(self, time_us: int) -> int:
        """Return the time in the stamps of the current file for a time of the history."""
        return time_us + self.shift_us + self.cut_us

    def _accept(self, time_us: int) -> None:
        self._suspect_us = None
        self._accepted += 1
        self.rises += time_us > self.last_us
        self.falls += time_us < self.last_us
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
        if seconds > 60:
            return None
        digits = stamp[20:26]
        if len(digits) < 6:
            self.step_us = max(self.step_us, _STEPS_US[len(digits)])
            digits = digits.ljust(6, "0")
        return minute + seconds * 10**6 + int(digits) - self.shift_us - self.cut_us
