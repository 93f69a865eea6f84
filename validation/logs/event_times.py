"""Local times of a LOG's events: their own stamps are UTC and finer than those of their lines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from lsmlab.validation.logs.clock import Clock
from lsmlab.validation.logs.lines import Line
from lsmlab.validation.logs.records import RocksDbLog

_ZONE_STEP_US: Final = 900 * 10**6
"""Time zones differ from UTC by multiples of a quarter of an hour."""
_FARTHEST_ZONE_US: Final = 15 * 3600 * 10**6
_CLOCK_SET_US: Final = 2 * 3600 * 10**6
"""Most by which clocks are set forward or back for summer time."""
_CLOCK_TOLERANCE_US: Final = 60 * 10**6
"""An event's own time and its line's stamp differ by microseconds; lines from under the mutex come seconds later."""



class EventTimes:
    """Time zone of a LOG from its events, and events and lines that contradict it."""

    def __init__(self, log: RocksDbLog, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self.zone_us: int | None = None
        """Local time less UTC; None before the first event."""
        self._next_zone_us: int | None = None
        """Zone that one event shows after the clock was set, until a second event confirms it."""
        self._agreed_at = (0, 0)
        """Records before, and time of, the last event whose line was right."""

    def of(self, micros: Any, line: Line) -> int:
        """Local time of an event: its own is finer than the line's stamp, but UTC."""
        if not isinstance(micros, int) or not 0 < micros < 1 << 62:
            self._log.troubles["unreadable_stamps"] += micros is not None
            return line.time_us
        if not line.stamped:
            return micros + (self.zone_us or 0)
        zone_us = round((line.time_us - micros) / _ZONE_STEP_US) * _ZONE_STEP_US
        if self.zone_us is None:
            if abs(zone_us) > _FARTHEST_ZONE_US:
                self._log.troubles["unreadable_stamps"] += 1
                return line.time_us
            self.zone_us = zone_us
        if line.stated_us != line.time_us and abs(line.stated_us - micros - self.zone_us) <= _CLOCK_TOLERANCE_US:
            self._clock.confirm(line.stated_us)
            return micros + self.zone_us
        if abs(line.time_us - micros - self.zone_us) > _CLOCK_TOLERANCE_US:
            self._log.troubles["unreadable_stamps"] += 1
            return self._other_zone(line.time_us, micros, zone_us)
        self._next_zone_us = None
        self._agreed_at = (len(self._log.records), line.time_us)
        return micros + self.zone_us

    def _other_zone(self, line_us: int, micros: int, zone_us: int) -> int:
        """Time of an event whose line is off: if two in a row are off by the same quarters of an hour, the clock was set."""
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
        """The clock was set by so much since the last event whose line was right: mend the records since then."""
        self._clock.shift(by_us)
        first, time_us = self._agreed_at
        records = self._log.records
        for i in range(first, len(records)):
            if abs(records[i].time_us - by_us - time_us) < abs(records[i].time_us - time_us):
                records[i] = replace(records[i], time_us=records[i].time_us - by_us)
