"""Clients as a fluid: between two changes their rates are constant, so the next memtable switch is computed, not stepped to.

Each group of clients has a demand (its arrivals, or as fast as it can), a capacity (threads, CPU, device reads) and
what the store lets through (stops, the delayed write rate). Every change of one of them is one event here.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import simpy
from lsmlab.models.host import Host
from lsmlab.models.workloads.base import Clients
from lsmlab.sim.admission import Admission
from lsmlab.sim.client_group import NEVER, Group, WriteShape, start_group
from lsmlab.sim.filling import Filling
from lsmlab.sim.latency import Undisturbed
from lsmlab.sim.machine import Machine
from lsmlab.sim.op_times import WRITE, OpTimes
from lsmlab.sim.queues import TICK_S, Alarm
from lsmlab.sim.recorder import CAUSES
from lsmlab.sim.sleeps import Sleeps
from lsmlab.sim.store import Store

if TYPE_CHECKING:
    from lsmlab.sim.reads import TreeReads

_OPS_EPSILON: Final = 1e-6
"""Operations: less than this is rounding."""

_ROUNDS: Final = 4
"""Reads are as fast as the device answers, which depends on how many there are: so often their rate is set anew at most."""
_SAME: Final = 0.02
"""Latencies this close are equal."""


class ClientLoad:
    """All clients of a run, spread evenly over its stores.

    A thread that meets a stopped store waits there, so soon all threads do: with several stores the slowest one sets
    the pace of every group that writes.
    """

    BUCKETS_PER_OCTAVE: Final = 16

    def __init__(
        self, env: simpy.Environment, groups: Sequence[Clients], stores: Sequence[Store], machine: Machine,
        shape: WriteShape, until_s: float, rng: np.random.Generator, reads: TreeReads | None,
        on_finished: Callable[[], None], log_reaches_device: bool = False,
    ) -> None:  # fmt: skip
        self.env = env
        self.stores = stores
        self.machine = machine
        self.shape = shape
        self._host: Host = machine.host
        self._rng = rng
        self._on_finished = on_finished
        self._log_reaches_device = log_reaches_device
        synced = stores[0].options.sync or any(g.sync for g in groups)
        device = machine.device
        sync_s = device.device.fsync_s(device.state) if synced and shape.log_bytes > 0.0 else 0.0
        self.groups = [start_group(g, until_s, rng, shape) for g in groups]
        self._last_s = 0.0
        self._written = 0.0
        """Writes per store so far."""
        self._filling = Filling(len(stores), shape.memtable_entries, rng)
        self._times = OpTimes(machine, shape, self._filling, reads, sync_s)
        self._alarm = Alarm(env, self._wake)
        self._planning = False
        self._admission = Admission(stores, self.groups, machine, shape, self._times)
        self._waiting_share = 0.0
        """Share of time that the leading writer spends waiting now."""
        self._stop_since = -1.0
        self._device_bytes = self._device_rate = 0.0
        """What clients moved on the device so far, and move per second now."""
        self.on_rates: Callable[[tuple[float, float, float]], None] | None = None
        """Called with the rates so far when they change: see `rates`."""
        self.rates = (0.0, 0.0, 0.0)
        """Writes, reads and device bytes per second now."""
        self.waits = array("d")
        """Rows of (from, to, cause, share of the time spent waiting)."""
        self.longest_wait_s = 0.0
        for store in stores:
            store.on_stall_change = self.refresh
            store.on_memtable_size = self._resize_memtable
        machine.cores.on_change = self.refresh
        if machine.journal is not None:
            machine.journal.on_lock = self.refresh
        if reads is not None:
            machine.device.on_change = lambda _grant: self.refresh()

    # --- events -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin at time 0."""
        self._plan()

    def refresh(self) -> None:
        """Something that the clients depend on has changed."""
        if not self._planning:
            self._advance()
            self._plan()

    def settle(self) -> None:
        """Bring the accounts up to now; the run is over."""
        self._advance()
        for group in self.groups:
            group.curve.extend((self.env.now, group.arrived, group.served))
        if self._stop_since >= 0.0:
            self._end_stop()

    def stop(self) -> None:
        """No further operation."""
        self._advance()
        for group in self.groups:
            group.finished = True
        self._plan()

    def unflushed(self) -> list[float]:
        """Entries in the active memtable of each store."""
        return self._filling.unflushed(self._written)

    def _resize_memtable(self, store: Store) -> None:
        """The active memtable is full with more or fewer writes from now on, perhaps with what it has."""
        shape = self.shape
        self._advance()
        entries = store.memtable_engine.memtable_entries(shape.key_bytes, shape.value_bytes, shape.delete_share)
        self._filling.resize(store.number, entries, self._written)
        if not self._planning:
            self._plan()

    def totals(self) -> tuple[float, float, float]:
        """Writes, reads (scans too) and device bytes of all clients so far."""
        self._advance()
        writes = sum(g.served * g.write_share for g in self.groups)
        reads = sum(g.served * (g.read_share + g.scan_share) for g in self.groups)
        return writes, reads, self._device_bytes

    def scans(self) -> float:
        """Scans of all clients, as of the last `totals`."""
        return sum(g.served * g.scan_share for g in self.groups)

    def _wake(self) -> None:
        self._advance()
        self._switch_full_memtables()
        self._plan()

    def _switch_full_memtables(self) -> None:
        self._planning = True  # a switch recomputes stalls, which would plan again for each store
        for number, entries in self._filling.switched(self._written):
            for group in self.groups:
                if group.write_share > 0:
                    group.write_pieces.add(self.env.now, min(group.spec.threads, 1), self._host.switch, self._host.switch)
            self.stores[number].switch_memtable(entries, entries * self.shape.log_bytes)
            kept = self.stores[number].memtables.kept.entries
            if kept > 0.0:
                self._filling.keep(number, kept)
        self._planning = False

    # --- the past: integrate what the present rates have done -----------------------------------------------------------

    def _advance(self) -> None:
        now_s = self.env.now
        elapsed_s = now_s - self._last_s
        if elapsed_s <= 0.0:
            return
        start_s, self._last_s = self._last_s, now_s
        self._device_bytes += self._device_rate * elapsed_s
        for group in self.groups:
            done = group.served_rate * elapsed_s
            group.served += done
            busy = 0.0
            if not group.closed:
                used = min(1.0, group.served_rate / group.capacity)
                busy = group.line.advance(elapsed_s, used, group.residual_s / group.servers)
                group.arrived += group.arriving * elapsed_s
                group.backlog = max(0.0, group.arrived - group.served)
                if group.backlog <= group.capacity * TICK_S:
                    group.backlog = 0.0
            self._written += done * group.write_share / len(self.stores)
            if done > 0.0 and group.backlog <= _OPS_EPSILON:
                self._note_undisturbed(group, done, busy)
        stall = self._admission.cause
        if stall is not None and self._waiting_share > 0.0:
            share = self._waiting_share
            if not stall.stops:
                sleeps = self._admission.sleeps()
                share /= 1.0 + self._host.sleep_penalty / sleeps.mean_s
                self._note_sleeps(elapsed_s, sleeps)
            self.waits.extend((start_s, now_s, CAUSES.index(stall), share))

    def _note_undisturbed(self, group: Group, done: float, utilisation: float) -> None:
        busy = round(20.0 * utilisation)
        residual = 0 if group.closed else self._bucket(group.residual_s)
        for (kind, share), parts in zip(group.kinds, group.times, strict=True):
            for part, mean_s in parts:
                key = (kind, self._bucket(mean_s), busy, residual)
                group.undisturbed[key] = group.undisturbed.get(key, 0.0) + done * share * part

    def _bucket(self, time_s: float) -> int:
        return round(math.log2(time_s) * self.BUCKETS_PER_OCTAVE)

    def _note_sleeps(self, elapsed_s: float, sleeps: Sleeps) -> None:
        """Each sleep of a delayed writer holds every thread's next write (§3.6, §3.7)."""
        for group in self.groups:
            if group.closed and group.write_share > 0.0:
                written = group.served_rate * group.write_share * elapsed_s
                count = elapsed_s * self._waiting_share / (sleeps.mean_s + self._host.sleep_penalty)
                held = min(written, count * group.spec.threads)
                for sleep_s, share in sleeps.lengths:
                    group.write_pieces.add(self.env.now, held * share, sleep_s, sleep_s)
                self.longest_wait_s = max(self.longest_wait_s, sleeps.longest_s)

    # --- the future: rates until something changes ----------------------------------------------------------------------

    def _plan(self) -> None:
        now_s = self.env.now
        for group in self.groups:
            self._arrivals(group, now_s)
        self._times.look()
        held = self._admission.held
        self._note_stop(held)
        for _ in range(_ROUNDS):
            before_s = self.machine.device.grant.client_read_latency_s
            self._set_rates(held)
            self._use_machine()
            after_s = self.machine.device.grant.client_read_latency_s
            if not self._times.reads or abs(after_s - before_s) <= _SAME * before_s:
                break
        for group in self.groups:
            # what is served until the next plan takes the times of this one: the device's grant may have changed by then
            group.times = [self._times.parts(kind, group) for kind, _ in group.kinds]
            if not group.closed:
                group.residual_s = self._times.residual_s(group)
            group.curve.extend((now_s, group.arrived, group.served))
        self._alarm.set(self._next_change())
        if self.on_rates is not None:
            self._note_rates()

    def _set_rates(self, held: bool) -> None:
        """What each group is served, on the machine as it is now."""
        for group in self.groups:
            group.capacity = self._times.capacity(group)
        allowed = self._admission.decide(held)
        wanted = sum(self._demand(g) * g.write_share for g in self.groups)
        factor = 1.0 if wanted <= allowed else allowed / wanted
        self._waiting_share = 0.0
        for group in self.groups:
            demand = self._demand(group)
            if group.write_share > 0.0:
                if self._admission.cause is not None and demand > 0.0 and factor < 1.0:
                    self._waiting_share = max(self._waiting_share, 1.0 - factor * demand / group.capacity)
                demand *= factor
            group.served_rate = demand

    def _note_rates(self) -> None:
        """Tell whoever measures the clients that their rates have changed."""
        before = self.rates
        writes = sum(g.served_rate * g.write_share for g in self.groups)
        reads = sum(g.served_rate * (g.read_share + g.scan_share) for g in self.groups)
        self.rates = (writes, reads, self._device_rate)
        if self.rates != before and self.on_rates is not None:
            self.on_rates(before)

    def _arrivals(self, group: Group, now_s: float) -> None:
        if group.closed:
            return
        starts, rates = group.starts, group.rates
        while group.segment < len(starts) and starts[group.segment] <= now_s + TICK_S:
            group.arriving = rates[group.segment]
            group.segment += 1

    def _demand(self, group: Group) -> float:
        if group.finished:
            return 0.0
        if group.closed:
            return min(group.capacity, group.limit_per_s)
        return group.capacity if group.backlog > _OPS_EPSILON else min(group.arriving, group.capacity)

    def _note_stop(self, held: bool) -> None:
        stopped = held or any(store.blocked for store in self.stores)
        if stopped and self._stop_since < 0.0:
            self._stop_since = self.env.now
        elif not stopped and self._stop_since >= 0.0:
            self._end_stop()

    def _end_stop(self) -> None:
        length_s = self.env.now - self._stop_since
        self._stop_since = -1.0
        self.longest_wait_s = max(self.longest_wait_s, length_s)
        for group in self.groups:
            if group.closed and group.write_share > 0.0 and not group.finished:
                group.write_pieces.add(self.env.now, group.spec.threads, length_s, length_s)

    def _use_machine(self) -> None:
        runnable = read_iops = read_bytes = 0.0
        threads = 0.0
        for group in self.groups:
            busy_s = self._times.client_s(group)
            for kind, share in group.kinds:
                busy_s += share * self._times.cpu_s(kind)
                if kind != WRITE:
                    cost = self._times.read_cost(kind)
                    read_iops += group.served_rate * share * cost.device_reads
                    read_bytes += group.served_rate * share * cost.device_bytes
                    threads = max(threads, group.spec.threads)
            group.runnable = min(group.spec.threads, group.served_rate * busy_s)
            runnable += group.runnable
        log = sum(g.served_rate * g.write_share for g in self.groups) * self.shape.log_bytes
        self._planning = True
        self.machine.cores.set_clients(runnable)
        self.machine.logs_on_device = self._log_lives_long(log)
        logged = log if self.machine.logs_on_device else 0.0
        request_bytes = read_bytes / read_iops if read_iops > 0.0 else self._times.block_bytes
        self._device_rate = read_bytes + logged
        self.machine.device.set_clients(read_iops, request_bytes, max(1.0, threads), logged)
        self._planning = False

    def _log_lives_long(self, log_bytes_per_s: float) -> bool:
        """Whether log bytes reach the device: at once if they are synced, else if the log outlives the kernel's patience.

        A log is deleted once its memtable is flushed; dirty pages of a deleted file are never written.
        """
        if self._log_reaches_device or log_bytes_per_s <= 0.0:
            return self._log_reaches_device
        life_s = self._filling.entries * self.shape.log_bytes * len(self.stores) / log_bytes_per_s
        return life_s > self._host.dirty_expire

    def _next_change(self) -> float:
        now_s = self.env.now
        soonest = NEVER
        write_rate = sum(g.served_rate * g.write_share for g in self.groups) / len(self.stores)
        if write_rate > 0.0:
            soonest = max(0.0, self._filling.next_at - self._written) / write_rate
        for group in self.groups:
            if group.finished:
                continue
            if group.served_rate > 0.0 and group.operations < NEVER:
                left = group.operations - group.served
                if left <= _OPS_EPSILON + group.served_rate * TICK_S:
                    self._finish(group)
                    continue
                soonest = min(soonest, left / group.served_rate)
            if not group.closed:
                if group.segment < len(group.starts):
                    soonest = min(soonest, group.starts[group.segment] - now_s)
                if group.backlog > _OPS_EPSILON and group.served_rate > group.arriving:
                    soonest = min(soonest, group.backlog / (group.served_rate - group.arriving))
        return max(0.0, soonest)

    def _finish(self, group: Group) -> None:
        group.finished = True
        group.served_rate = 0.0
        if all(g.finished or g.spec.background for g in self.groups):
            self._on_finished()

    def undisturbed(self, group: Group, kind: int) -> list[tuple[Undisturbed, float, float]]:
        """Operations of `kind` (0 write, 1 read, 2 scan) that waited for no stall, and what they met.

        That is a utilisation of the threads that makes their line as long, and what was left of an operation in progress
        there, in seconds.
        """
        spread = self._host.write_spread if kind == 0 else self._host.read_spread
        steps = self.BUCKETS_PER_OCTAVE
        return [
            (Undisturbed(count, 2.0 ** (bucket / steps), spread), busy / 20.0, 2.0 ** (residual / steps))
            for (k, bucket, busy, residual), count in group.undisturbed.items()
            if k == kind
        ]
