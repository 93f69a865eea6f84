"""Local times of a LOG's events, from their time_micros, which is UTC and more exact than the lines' time stamps."""

from __future__ import annotations

from typing import Any, Final

from lsmlab.validation.logs.clock import Clock
from lsmlab.validation.logs.lines import Line
from lsmlab.validation.logs.records import RocksDbLog

_ZONE_STEP_US: Final = 900 * 10**6
"""Time zones differ from UTC by multiples of a quarter of an hour."""
_FARTHEST_ZONE_US: Final = 15 * 3600 * 10**6
_CLOCK_SET_US: Final = 2 * 3600 * 10**6
"""Largest change of a clock for summer time."""
_CLOCK_TOLERANCE_US: Final = 60 * 10**6
"""Largest difference between an event's time_micros and the time stamp of its line. It is usually microseconds, but
lines logged under the DB mutex are written seconds later."""



class EventTimes:
    """Time zone of a LOG, inferred from its events, and the events and lines that contradict it."""

    def __init__(self, log: RocksDbLog, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self.zone_us: int | None = None
        """Local time minus UTC; None before the first event, and before the first one after a gap."""
        self._next_zone_us: int | None = None
        """New zone according to one event, until a second event confirms that the clock was set."""
        self._agreed_at = (0, 0)
        """(Number of records before it, time) of the last event whose line had the right time stamp."""

    def after_gap(self) -> None:
        """Begin after a time without a LOG, in which the local clock may have been set: the next event tells the zone again."""
        self.zone_us = self._next_zone_us = None

    def of(self, micros: Any, line: Line) -> int:
        """Return the local time of an event, from its time_micros (`micros`, UTC) or else from its line's stamp."""
        if not isinstance(micros, int) or not 0 < micros < 1 << 62:
            self._log.troubles["unreadable_stamps"] += micros is not None
            return line.time_us
        utc_us = micros - self._clock.cut_us
        if not line.stamped:
            return utc_us + (self.zone_us or 0)
        zone_us = round((line.time_us - utc_us) / _ZONE_STEP_US) * _ZONE_STEP_US
        if self.zone_us is None:
            if abs(zone_us) > _FARTHEST_ZONE_US:
                self._log.troubles["unreadable_stamps"] += 1
                return line.time_us
            self.zone_us = zone_us
        if line.stated_us != line.time_us and abs(line.stated_us - utc_us - self.zone_us) <= _CLOCK_TOLERANCE_US:
            self._clock.confirm(line.stated_us)
            self._clock.exact_us = utc_us + self.zone_us
            return utc_us + self.zone_us
        if abs(line.time_us - utc_us - self.zone_us) > _CLOCK_TOLERANCE_US:
            self._log.troubles["unreadable_stamps"] += 1
            return self._other_zone(line.time_us, utc_us, zone_us)
        self._next_zone_us = None
        self._agreed_at = (len(self._log.records), line.time_us)
        self._clock.exact_us = utc_us + self.zone_us
        return utc_us + self.zone_us

    def _other_zone(self, line_us: int, micros: int, zone_us: int) -> int:
        """Return the time of an event whose line has a wrong time stamp.

        If two such events in a row differ by the same multiple of a quarter of an hour, the local clock was set.
        """
        assert self.zone_us is not None
        near = abs(line_us - micros - zone_us) <= _CLOCK_TOLERANCE_US and abs(zone_us - self.zone_us) <= _CLOCK_SET_US
        if near and self._next_zone_us == zone_us:
            self._log.troubles["unreadable_stamps"] -= 2
            self._shift(zone_us - self.zone_us)
            self._next_zone_us = None
            return micros + self.zone_us
        self._next_zone_us = zone_us if near else None
        return micros + self.zone_us if near else line_us

    def _shift(self, by_us: int) -> None:
        """Correct the records since the last event with a right time stamp: the clock was set by `by_us` since then."""
        self._clock.shift(by_us)
        first, time_us = self._agreed_at
        self._log.records.move_back(
            first, by_us, lambda record: abs(record.time_us - by_us - time_us) < abs(record.time_us - time_us)
        )
