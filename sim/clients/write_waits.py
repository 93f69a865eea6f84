"""Waits of writers for write stops and delays, and the writes that wait."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from lsmlab.models.policies.decisions import StallCause
from lsmlab.sim.clients.admission import Sleeps
from lsmlab.sim.clients.group import ClientGroup
from lsmlab.sim.clients.latency import Floats
from lsmlab.sim.store.records import CAUSES


class WriteWaits:
    """Waits of all client groups that write."""

    def __init__(self, groups: Sequence[ClientGroup]) -> None:
        self._waiters: list[ClientGroup] = []
        """Closed-loop groups, whose threads wait; in an open loop arrivals wait in the queue (`series.waiting_pieces`)."""
        self.add_groups(groups)
        self._rows = array("d")
        self._waits_from_s: float | None = None
        """Time from which no write is admitted; None: writes are admitted."""
        self._stopped_from_s: float | None = None
        """Start of the present stop; None: no stall condition stops writers."""
        self._stalled = False
        """Whether a stall condition has stopped writers in the present wait."""
        self.longest_s = 0.0
        """Longest single wait for a stall condition."""

    def add_groups(self, groups: Sequence[ClientGroup]) -> None:
        """Count the waits of further groups."""
        self._waiters += [g for g in groups if g.closed and g.write_share > 0.0]

    def table(self) -> Floats:
        """Intervals in which writers waited: rows of (start, end, index in CAUSES, share of the interval spent waiting)."""
        return np.frombuffer(self._rows, dtype=np.float64).reshape(-1, 4) if self._rows else np.empty((0, 4))

    def add_stretch(self, start_s: float, end_s: float, cause: StallCause, share: float, sleeps: Sleeps | None) -> None:
        """Add an interval of which the group leader waited for `share`, stopped or in `sleeps`."""
        if sleeps is not None:
            self._add_sleeps(start_s, end_s, share, sleeps)
        self._rows.extend((start_s, end_s, CAUSES.index(cause), share))

    def set_stopped(self, now_s: float, *, stopped: bool, held: bool = False) -> None:
        """Begin or end a wait of all writers. One write of each closed-loop thread waits for its end.

        `stopped`: by a stall condition; `held`: for another reason (a cold start, a lock), which alone is no stall.
        """
        if self._stopped_from_s is not None and not stopped:
            self._stalled = self._stalled or now_s > self._stopped_from_s
            self._stopped_from_s = None
        elif stopped and self._stopped_from_s is None:
            self._stopped_from_s = now_s
        if stopped or held:
            self._waits_from_s = now_s if self._waits_from_s is None else self._waits_from_s
        elif self._waits_from_s is not None:
            self._end_wait(now_s - self._waits_from_s, now_s)

    def _end_wait(self, length_s: float, now_s: float) -> None:
        if self._stalled:
            self.longest_s = max(self.longest_s, length_s)
        self._waits_from_s, self._stalled = None, False
        for group in self._waiters:
            if not group.finished:
                group.write_pieces.add(now_s, group.spec.threads, length_s, length_s)

    def _add_sleeps(self, start_s: float, end_s: float, share: float, sleeps: Sleeps) -> None:
        """Add sleeps: each sleep of a delayed writer delays the next write of every thread.

        See (behaviour/write-stalls.md, Delay bucket; Sleeps and stops).
        """
        elapsed_s = end_s - start_s
        for group in self._waiters:
            written = group.served_rate * group.write_share * elapsed_s
            count = elapsed_s * share / sleeps.mean_s
            held = min(written, count * group.spec.threads)
            for sleep_s, part in sleeps.lengths:
                group.write_pieces.add(end_s, held * part, sleep_s, sleep_s)
            self.longest_s = max(self.longest_s, sleeps.longest_s)
