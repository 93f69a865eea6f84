"""Clients as a fluid: their rates are constant between two changes, so the time of the next memtable switch is computed.

Three limits determine the rate of a client group: its demand (arrivals; in a closed loop, the full speed of its threads),
its capacity (threads, CPU, device reads) and the writes that the databases admit (stops, delayed write rate). Each change
of a limit is one event of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import simpy
from lsmlab.models.workloads.base import Clients
from lsmlab.sim.clients.admission import WriteLimits, sleeps_of
from lsmlab.sim.clients.group import NEVER, ClientGroup, ClientTraffic, start_group, writes_per_s
from lsmlab.sim.clients.memtable_fill import MemtableFill
from lsmlab.sim.clients.memtable_switches import MemtableSwitches
from lsmlab.sim.clients.op_costs import OpCosts
from lsmlab.sim.clients.op_times import OpTimes
from lsmlab.sim.clients.rates import LoadState, Rates, WalWrites, solve
from lsmlab.sim.clients.write_waits import WriteWaits
from lsmlab.sim.machine.client_shares import ClientShares
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.machine.queues import Alarm
from lsmlab.sim.observers import Observers
from lsmlab.sim.store.database import Database
from lsmlab.sim.store.write_buffer_manager import ActiveMemtables

if TYPE_CHECKING:
    from lsmlab.sim.clients.family_reads import FamilyReads
    from lsmlab.sim.setup import Setup

class ClientLoad:
    """All clients of a run, spread over its databases by their parts of the load.

    A thread waits at a stopped database, so soon all threads wait there: the slowest of several databases limits every
    group that writes.
    """

    def __init__(
        self, env: simpy.Environment, setup: Setup, machine: Machine, databases: Sequence[Database], until_s: float,
        rng: np.random.Generator, reads: FamilyReads | None, beside: ClientShares,
    ) -> None:  # fmt: skip
        """Start at the present time, until `until_s`. `beside`: shares of the machine, beside the clients of other databases."""
        self.env = env
        self.databases = databases
        self.families = [family for database in databases for family in database.families]
        self.shape = shape = setup.shape
        self._machine = machine
        self._shares_of_machine = beside
        self.finished = Observers[[]]()
        """Observers of the end: all operations of all groups are served."""
        clients = setup.workload.clients
        self._synced = shape.wal_bytes > 0.0 and (self.families[0].options.sync or any(c.sync for c in clients))
        """Whether a write waits for the fsync of the WAL."""
        self._reads = reads
        self._rng = rng
        started = () if setup.workload.phases else clients
        self.groups = [start_group(c, until_s, rng, shape, env.now) for c in started]
        """Groups that have begun, those of earlier phases included."""
        self.present = self.groups
        """Groups of the present phase."""
        self.waits = WriteWaits(self.groups)
        self._last_s = env.now
        self._written = 0.0
        """Writes per database so far."""
        families = setup.families
        shapes, shares = [f.shape for f in families], [f.share.writes for f in families]
        self._shapes = shapes * len(databases)
        """Mean shape of the writes to each column family of each database."""
        self._parts = parts = setup.workload.shard_parts
        self._fill = MemtableFill(parts, [s.memtable_entries for s in shapes], shares, rng)
        self._switches = [
            MemtableSwitches(database, self._fill, shapes, [part * share for share in shares])
            for database, part in zip(databases, parts, strict=True)
        ]
        self._bounded = [s for s in self._switches if s.bounded]
        self._shared = databases[0].shared_memtables
        """Memtables that share a write buffer manager with those of these databases; None without one."""
        self._members = [
            (
                self._shared.join(
                    database, own.block_bytes, partial(self._flush_for_memory, own), self.refresh, self._look(own)
                ),
                own,
            )
            for database, own in zip(databases, self._switches, strict=True)
            if self._shared is not None
        ]
        """Number there, and switches, of each database."""
        self._wal_reaches_device = setup.setting.wal_reaches_device
        self._op_costs: OpCosts
        """Costs of operations at the last plan; without those of reads after a change of memtable sizes."""
        self._wal: WalWrites
        self._measure_memtables()
        self._alarm = Alarm(env, self._wake)
        self._stopped = False
        """Whether a database stops writes."""
        self._cold_until_s = 0.0
        """End of the cold start of writers after the last stop."""
        self._reads_change_s = NEVER
        """Time at which the costs of reads change, while the block cache fills."""
        self._state: LoadState | None = None
        """State for which `_rates` hold; None before `start`."""
        self._rates: Rates
        self._device_bytes = 0.0
        self.rates_changed = Observers[[ClientTraffic]]()
        """Observers of a change of `rates`. Argument: the previous rates."""
        self.rates = ClientTraffic()
        """Current traffic per second; updated only while `rates_changed` has observers."""
        self._observe(sleeping=self._synced or reads is not None)

    def _observe(self, *, sleeping: bool) -> None:
        """Plan again after each change of stalls, free memory, memtable sizes, core share or journal lock.

        If clients wait for the device (`sleeping`: reads, synced writes), also after each change of its grant.
        """
        for database, switches in zip(self.databases, self._switches, strict=True):
            database.current_wal_bytes = partial(self._current_wal_bytes, switches)
            database.writers_affected.add(self.refresh)
            if self._bounded or self._shared is not None:
                database.memory_freed.add(self._wake)
        for family in self.families:
            family.events.memtable_resized.add(self._resize_memtable)
        self._shares_of_machine.observe(self.refresh, sleeping=sleeping)
        self._machine.device.replaced.add(self.refresh)
        if (journal := self._shares_of_machine.journal) is not None:
            journal.lock_changed.add(self.refresh)

    # --- events -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the clients."""
        self._plan()

    def begin(self, clients: Sequence[Clients], until_s: float) -> list[ClientGroup]:
        """Start the groups of another phase, which lasts `until_s` at most. Return them."""
        self._advance()
        groups = [start_group(c, until_s, self._rng, self.shape) for c in clients]
        for group in groups:
            group.starts = [start_s + self.env.now for start_s in group.starts]
        self.groups = self.groups + groups
        self.present, self._reads_change_s = groups, NEVER
        self.waits.add_groups(groups)
        if self._reads is not None and any(g.read_share + g.scan_share > 0.0 for g in groups):
            self._reads.begin(writes=any(g.write_share > 0.0 for g in groups))
        self._state = None  # the rates are those of other groups
        self._plan()
        return groups

    def flush(self, numbers: Collection[int], reason: str) -> None:
        """Make the active memtables of some column families immutable and flush them (DB::Flush); does not wait for it.

        `numbers`: of the families.
        """
        self._advance()
        for switches in self._switches:
            for resized in switches.flush(numbers, self._written, reason):
                self._fit_memtable(resized)
        self._plan()

    def refresh(self) -> None:
        """Account for the time so far and plan again, after a change of a limit."""
        self._advance()
        self._plan()

    def settle(self) -> None:
        """Account for the time up to now, at the end of the run."""
        self._advance()
        for switches in self._switches:
            switches.trim_history(self._written)
        for group in self.groups:
            group.curve.extend((self.env.now, group.arrived, group.served))
        self.waits.set_stopped(self.env.now, stopped=False)

    def stop(self) -> None:
        """Stop all clients."""
        self._advance()
        for group in self.groups:
            group.finished = True
        self._plan()

    def unflushed(self) -> list[float]:
        """Return the entries in the active memtable of each column family of each database."""
        return self._fill.unflushed(self._written)

    def totals(self) -> ClientTraffic:
        """Return the operations and device bytes of all clients so far."""
        self._advance()
        writes = sum(g.served * g.write_share for g in self.groups)
        reads = sum(g.served * (g.read_share + g.scan_share) for g in self.groups)
        return ClientTraffic(writes, reads, self._device_bytes)

    def scans(self) -> float:
        """Return the number of scans of all clients at the last call of `totals`."""
        return sum(g.served * g.scan_share for g in self.groups)

    def _wake(self) -> None:
        """Switch memtables that are due and plan again: one is full, or a flush has freed WALs or memory."""
        self._advance()
        self._switch_full_memtables()
        self._plan()

    def _resize_memtable(self, number: int) -> None:
        """Apply the new size of a column family's active memtable, which may be full at once."""
        self._advance()
        self._fit_memtable(number)
        self._plan()

    def _fit_memtable(self, number: int) -> None:
        engine, shape = self.families[number].memtable_options, self._shapes[number]
        entries = engine.memtable_entries(shape.key_bytes, shape.value_bytes, shape.delete_share)
        self._fill.resize(number, entries, self._written)
        self._measure_memtables()

    def _measure_memtables(self) -> None:
        """Compute what depends on the sizes of memtables: costs of writes, and writes during the life of a WAL."""
        host, fill = self._machine.host, self._fill
        self._op_costs = OpCosts.of(host, self.shape, fill.entries, synced=self._synced)
        self._wal = WalWrites(self._wal_reaches_device, fill.slowest_entries * len(self.databases), host.dirty_expire)

    def _switch_full_memtables(self) -> None:
        for number, entries in self._fill.switch_full(self._written):
            database = number // len(self.databases[0].families)
            for resized in self._switches[database].full(number, entries, self._written):
                self._fit_memtable(resized)
            kept = self.families[number].memtables.kept_hot_keys.entries
            if kept > 0.0:
                self._fill.add_hot_keys(number, kept)
        for switches in self._bounded:
            while (switched := switches.switch_if_required(self._written)) is not None:
                for resized in switched:
                    self._fit_memtable(resized)

    def _flush_for_memory(self, switches: MemtableSwitches) -> ActiveMemtables | None:
        """Switch a memtable of one database, because its write buffer manager asks for a flush.

        Return its active memtables, None if it has none to flush.
        """
        self._advance()
        resized = switches.switch_for_memory(self._written)
        for number in resized or ():
            self._fit_memtable(number)
        return None if resized is None else self._active_memtables(switches)

    def _active_memtables(self, switches: MemtableSwitches) -> ActiveMemtables:
        return switches.active_memtables(self._written, writes_per_s(self.present) / len(self.databases))

    def _current_wal_bytes(self, switches: MemtableSwitches) -> float:
        """Return the bytes of the current WAL of a database now, without accounting for the time so far."""
        writes = writes_per_s(self.present) * (self.env.now - self._last_s) / len(self.databases)
        return switches.current_wal_bytes(self._written + writes)

    def _look(self, switches: MemtableSwitches) -> Callable[[], ActiveMemtables] | None:
        """Return the function that gives the memtables of a database now; None if no write makes it drop any."""

        def look() -> ActiveMemtables:
            self._advance()
            return self._active_memtables(switches)

        return look if switches.keep_history else None

    # --- past: integrate the rates since the last event -----------------------------------------------------------------

    def _advance(self) -> None:
        now_s = self.env.now
        elapsed_s = now_s - self._last_s
        if elapsed_s <= 0.0:
            return
        start_s, self._last_s = self._last_s, now_s
        allowed, state = self._rates.allowed, self._state
        assert state is not None
        self._device_bytes += self._rates.use.device_bytes_per_s * elapsed_s
        for group in self.present:
            self._written += group.advance(elapsed_s) * group.write_share / len(self.databases)
        cause = allowed.admitted.cause
        if cause is not None and allowed.waiting_share > 0.0:
            sleeps = None if cause.stops else sleeps_of(state.limits, allowed.admitted, self.present, state.costs)
            self.waits.add_stretch(start_s, now_s, cause, allowed.waiting_share, sleeps)

    # --- future: rates until the next change ----------------------------------------------------------------------------

    def _plan(self) -> None:
        """Find the rates until the next change, and set the clients' demand on the machine."""
        before, self._state = self._state, self._present_state()
        if before is None or not self._rates.still_hold(before, self._state, self._shares_of_machine):
            self._set_rates(self._state)
        for group in self.present:
            group.curve.extend((self.env.now, group.arrived, group.served))
        self._alarm.set(self._next_change_s())
        if self._shared is not None:
            self._shared.update([(number, self._active_memtables(switches)) for number, switches in self._members])
        if self.rates_changed:
            self._note_rates()

    def _set_rates(self, state: LoadState) -> None:
        self._rates = rates = solve(state, self._shares_of_machine)
        self._shares_of_machine.serve(rates.use.demand, wals_on_device=rates.use.wals_on_device)
        times = OpTimes(state.costs, rates.shares)
        for group, own, runnable in zip(self.present, rates.groups, rates.use.runnable, strict=True):
            group.capacity, group.demand_rate, group.served_rate, group.runnable = *own, runnable
            # operations until the next plan have the times of this plan, even if the device's grant changes before
            group.times = [times.parts(kind, group) for kind, _ in group.kinds]
            if not group.closed:
                group.residual_s = times.residual_s(group)

    def _present_state(self) -> LoadState:
        """Return the state of clients and stores, and note stops and cold starts."""
        now_s = self.env.now
        for group in self.present:
            group.arrive(now_s)
        stopped = any(database.blocked for database in self.databases)
        if self._stopped and not stopped:
            self._cold_until_s = now_s + self._machine.host.cold_start
        self._stopped = stopped
        held = self._writes_held() or now_s < self._cold_until_s
        self.waits.set_stopped(now_s, stopped=stopped, held=held)
        writing = not (held or stopped) and any(g.write_share > 0.0 and not g.finished for g in self.present)
        if self._reads is not None and any(g.read_share + g.scan_share > 0.0 for g in self.present):
            self._op_costs = self._with_reads(self._op_costs, self._reads, writing)
        return LoadState(self.present, WriteLimits.of(self.databases, self._parts, held=held), self._op_costs, self._wal)

    def _writes_held(self) -> bool:
        """Return whether the journal is locked for WAL writes (`Journal.locked`) or an OPTIONS file is being written."""
        journal = self._shares_of_machine.journal
        locked = journal is not None and journal.locked and self.shape.wal_bytes > 0.0
        return locked or any(database.options_file.holds_writers for database in self.databases)

    def _with_reads(self, costs: OpCosts, reads: FamilyReads, writing: bool) -> OpCosts:
        """Return the costs with those of reads on the present trees and memtables."""
        gets = sum(g.served * g.read_share for g in self.groups)
        scans = sum(g.served * g.scan_share for g in self.groups)
        classes = reads.costs(gets, scans, partial(self._fill.mean_active, self._written, writing))
        self._reads_change_s, block_bytes = reads.next_s, reads.block_bytes
        same = classes is costs.read_classes and block_bytes == costs.block_bytes
        return costs if same else costs.with_reads(classes, block_bytes)

    def _note_rates(self) -> None:
        """Update `rates` and call the observers of `rates_changed`."""
        before = self.rates
        reads = sum(g.served_rate * (g.read_share + g.scan_share) for g in self.present)
        self.rates = ClientTraffic(writes_per_s(self.present), reads, self._rates.use.device_bytes_per_s)
        if self.rates != before:
            self.rates_changed(before)

    def _next_change_s(self) -> float:
        """Return the seconds until the next memtable switch or change of a rate; finish complete groups."""
        soonest_s = self._cold_until_s - self.env.now if self.env.now < self._cold_until_s else NEVER
        write_rate = writes_per_s(self.present) / len(self.databases)
        if write_rate > 0.0:
            next_at = min([self._fill.next_at, *(s.next_at(self._written) for s in self._bounded)])
            soonest_s = max(0.0, next_at - self._written) / write_rate
        soonest_s = min(soonest_s, self._reads_change_s - self.env.now)
        for group in self.present:
            if group.finished:
                continue
            if group.complete:
                self._finish(group)
            else:
                soonest_s = min(soonest_s, group.next_change_s(self.env.now))
        return max(0.0, soonest_s)

    def _finish(self, group: ClientGroup) -> None:
        group.finished = True
        group.served_rate = group.demand_rate = 0.0
        if all(g.finished or g.spec.background for g in self.present):
            self.finished()
