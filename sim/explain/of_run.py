"""Stall analysis of a simulated run: its stalls with their chains, and curves of its clients and of the use of its machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from lsmlab.models.devices.base import Device
from lsmlab.models.devices.capped import Capped
from lsmlab.sim.clients.all_clients import AllClients
from lsmlab.sim.clients.latency import Floats
from lsmlab.sim.explain.chains import Chain, chain_summary, chains, stall_rows
from lsmlab.sim.explain.holder_sentences import bottleneck_text
from lsmlab.sim.explain.lost_operations import client_curves, open_loop_latency
from lsmlab.sim.explain.resource_use import Curve, busy_curve, running_curve, spliced
from lsmlab.sim.explain.settled import overload_facts, settled_facts
from lsmlab.sim.explain.stall_analysis import StallData, analyse_stalls, lost_operations
from lsmlab.sim.explain.stall_division import Slots
from lsmlab.sim.machine.device_station import DeviceStation, TransferLog
from lsmlab.sim.machine.machine import Consumer, Machine
from lsmlab.sim.machine.usage_log import UsageLog
from lsmlab.sim.results.results import Result
from lsmlab.sim.results.series import group_curve
from lsmlab.sim.results.stores import Store
from lsmlab.sim.store.column_family import ColumnFamily
from lsmlab.sim.store.database import Database
from lsmlab.sim.store.records import JobRecord, StallInterval

if TYPE_CHECKING:
    from lsmlab.sim.setup import Setup


def explain_run(
    result: Result, machine: Machine, stores: Sequence[Store], usage: UsageLog
) -> None:  # fmt: skip
    """Add the stalls of a finished run to its result, with their chains, costs and reasons."""
    setup, clients = stores[0].setup, AllClients([store.clients for store in stores])
    databases = [database for store in stores for database in store.databases]
    families = [family for database in databases for family in database.families]
    stalls = [pair for database in databases for family in database.families for pair in _stalls_with_chains(family, database)]
    rows = stall_rows(stalls, named=any(len(store.setup.families) > 1 for store in stores))
    memtable = min(
        f.shape.memtable_entries / f.share.writes for store in stores for f in store.setup.families if f.share.writes > 0.0
    )
    data = StallData(
        stalls=rows,
        jobs=result.jobs,
        series=result.series,
        clients=client_curves((group_curve(g), g.write_share) for g in clients.groups),
        memtable_writes=memtable * len(databases),
        usage=_usage(stores, machine, families, usage, rows) if rows else {},
        stall_seconds=result.summary["stall_seconds"],
        slots=_threads(setup, databases[0]),
        pools=_pools(databases),
    )
    for row, lost_ops in zip(rows, lost_operations(data), strict=True):
        row["lost_ops"] = lost_ops
    result.stalls = rows
    summary = result.summary
    summary |= {**chain_summary(stalls), **analyse_stalls(data)}
    if rows and closed_loop(clients) and data.clients.served[-1] > 0.0:
        summary["open_loop_latency_s"] = open_loop_latency(data.clients.time_s, data.clients.served)
    summary["settled"] = settled_facts(setup, result.series, summary)
    summary["overload"] = overload_facts(result.series, summary)
    summary["bottleneck"]["text"] = bottleneck_text(summary)


def _stalls_with_chains(family: ColumnFamily, database: Database) -> list[tuple[StallInterval, Chain]]:
    """Return the stalls of a column family with their blame chains, which may contain jobs of the whole database."""
    same = [f.recorder for f in database.families]
    running = [job for recorder in same for job in recorder.unfinished]

    def find(number: int) -> JobRecord | None:
        found = (recorder.jobs.find(number) for recorder in reversed(same))
        return next((job for job in found if job is not None), None)

    return list(zip(family.recorder.stalls, chains(family.recorder.stalls, find, running), strict=True))


def closed_loop(clients: AllClients) -> bool:
    """Return whether all clients send as fast as the store answers, so that waits delay no later operation."""
    return all(g.closed and math.isinf(g.limit_per_s) for g in clients.groups)


def _usage(
    stores: Sequence[Store], machine: Machine, families: Sequence[ColumnFamily], usage: UsageLog,
    stalls: Sequence[Mapping[str, Any]],
) -> dict[str, Curve]:  # fmt: skip
    rows = usage.table
    end_s = float(rows[-1, 0])
    clients = np.concatenate(([0.0], np.cumsum(rows[:-1, 2] * np.diff(rows[:, 0]))))
    edges = {float(stall[side]) for stall in stalls for side in ("start_s", "end_s")}
    at_s = np.array(sorted({0.0, end_s, *edges}))
    return {
        "device": (rows[:, 0], rows[:, 3]),
        "cores": (rows[:, 0], (rows[:, 1] + clients) / machine.cores.cores),
        **_transfers(stores[0].setup, machine, at_s),
        **_other_devices(machine, rows, at_s),
        **_slots(stores, families, end_s),
    }


def _other_devices(machine: Machine, rows: Floats, at_s: Floats) -> dict[str, Curve]:
    """Return the use of `cold_device` and `wal_device`, and of the bandwidth of each; nothing for a store on one device."""
    curves = {}
    for number, volume in enumerate(machine.volumes[1:], start=1):
        name = "cold" if volume is machine.cold else "wal"
        curves[f"{name}_device"] = (rows[:, 0], rows[:, 3 + number])
        curves[f"{name}_bandwidth"] = _bandwidth(volume.device, volume.device.device, at_s)
    return curves


def _transfers(setup: Setup, machine: Machine, at_s: Floats) -> dict[str, Curve]:
    """Return the use of the device's bandwidth, of its caps and of the rate limiter, as each was at its time."""
    changes = setup.setting.device_changes
    if not changes:
        return _transfers_under(machine, machine.device.device, at_s)
    from_s = [0.0, *(change.at_s for change in changes)]
    at_s = np.union1d(at_s, from_s)
    devices = (setup.setting.device.device, *(change.setup.device for change in changes))
    return spliced([_transfers_under(machine, device, at_s) for device in devices], from_s)


def _transfers_under(machine: Machine, caps: Device, at_s: Floats) -> dict[str, Curve]:
    """Return the same as if the device had been `caps` during the whole run."""
    station, limiter = machine.device, machine.limiter
    reads, writes = _reads_and_writes(station)

    def use(rows: Floats, capacity_per_s: float) -> Curve:
        return busy_curve(rows[:, 1], rows[:, 2], rows[:, 3], at_s, capacity_per_s)

    curves = {"bandwidth": _bandwidth(station, caps, at_s)}
    if isinstance(caps, Capped):
        if caps.write_cap is not None:
            curves["write_cap"] = use(writes, caps.write_cap)
        if caps.read_cap is not None:
            curves["read_cap"] = use(reads, caps.read_cap)
        if caps.iops_cap is not None:
            read_bytes, write_bytes = station.request_bytes
            each = use(reads, caps.iops_cap * read_bytes), use(writes, caps.iops_cap * write_bytes)
            curves["iops_cap"] = max(each, key=lambda curve: curve[1][-1])
    if limiter is not None:
        background = writes[writes[:, 0] > Consumer.CLIENT + TransferLog.WRITE]
        curves["limiter"] = use(background, float(limiter.rules.rate_bytes_per_s))
    return curves


def _reads_and_writes(station: DeviceStation) -> tuple[Floats, Floats]:
    """Return the rows of the transfers of a device."""
    log = np.frombuffer(station.log.rows, dtype=np.float64).reshape(-1, 4) if station.log.rows else np.empty((0, 4))
    return log[log[:, 0] < TransferLog.WRITE], log[log[:, 0] >= TransferLog.WRITE]


def _bandwidth(station: DeviceStation, device: Device, at_s: Floats) -> Curve:
    """Return the use of the bandwidth that `device` has without caps."""
    parts = [
        busy_curve(rows[:, 1], rows[:, 2], rows[:, 3], at_s, 1.0 / alone_s)[1]
        for rows, alone_s in zip(_reads_and_writes(station), station.alone_s_per_byte(device), strict=True)
    ]
    return at_s, parts[0] + parts[1]


def _threads(setup: Setup, database: Database) -> Slots:
    """Return the threads of a pool: those of one database, or of all databases of its process if they are fewer."""
    flushes, compactions = (max(1, most) for most in setup.engine.scheduler().most_jobs())
    pools = database.pools
    return Slots(
        round(min(flushes, pools.flushes.threads)), round(min(compactions, pools.compactions.threads)),
        setup.engine.options.level0_file_num_compaction_trigger,
    )  # fmt: skip


def _pools(databases: Sequence[Database]) -> list[int]:
    """Return the number of the pool of threads of each database; nothing if each has its own."""
    numbers: dict[int, int] = {}
    found = [numbers.setdefault(id(database.pools), len(numbers)) for database in databases]
    return found if len(numbers) < len(databases) else []


def _slots(stores: Sequence[Store], families: Sequence[ColumnFamily], end_s: float) -> dict[str, Curve]:
    """Return the use of the slots of flushes and compactions, over all pools of threads."""
    activity = np.concatenate(
        [np.frombuffer(f.recorder.activity, dtype=np.float64).reshape(-1, 3) for f in families] or [np.empty((0, 3))]
    )
    pools = {id(d.pools): _threads(store.setup, d) for store in stores for d in store.databases}
    flushes, compactions = (sum(slots[kind] for slots in pools.values()) for kind in (0, 1))
    return {
        "flush_slots": running_curve(activity[:, 0], activity[:, 1], end_s, flushes),
        "compaction_slots": running_curve(activity[:, 0], activity[:, 2], end_s, compactions),
    }
