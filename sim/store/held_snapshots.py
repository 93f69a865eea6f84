"""Snapshots that readers hold during a run, at the times that `conditions.snapshots` names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import simpy
from lsmlab.models.devices.conditions import HeldSnapshot
from lsmlab.models.engines.engine import Engine
from lsmlab.models.errors import InputError
from lsmlab.models.workloads.base import StoreAction
from lsmlab.sim.machine.queues import Events
from lsmlab.sim.store.database import Database


def hold_snapshots(
    env: simpy.Environment, databases: Sequence[Database], held: HeldSnapshot, unflushed: Callable[[], Sequence[float]]
) -> Events:  # fmt: skip
    """Take and release the snapshots of one item of `conditions.snapshots` on all databases.

    `unflushed` returns the entries in the active memtable of each column family now.
    """
    until_s, renew_s = (math.inf if time_s is None else time_s for time_s in (held.until, held.renew))
    yield env.timeout(held.at)
    _take(databases, env.now, unflushed())
    while min(until_s, renew_s) < math.inf and env.now < until_s:
        taken_s = env.now
        yield env.timeout(min(until_s - taken_s, renew_s))
        if env.now < until_s:
            _take(databases, env.now, unflushed())
        _release(databases, taken_s, env.now)


def check_snapshots(engines: Iterable[Engine], actions: Iterable[StoreAction | None]) -> None:
    """Raise InputError for a store whose old versions are not modelled.

    `actions`: those of the phases of its workload, and those beside its clients.
    """
    for engine in engines:
        picker = engine.picker
        if engine.options.enable_blob_files:
            raise InputError("conditions.snapshots: old versions in blob files are not modelled; set enable_blob_files=false")
        if engine.options.preclude_last_level_data_seconds:
            raise InputError(
                "conditions.snapshots: young data above the last level beside them are not modelled; set "
                "preclude_last_level_data_seconds=0"
            )
        if engine.single_deletes:
            raise InputError("conditions.snapshots: single deletes beside them are not modelled; set engine.single_deletes=false")
        if not picker.holds_blobs or picker.values_in_wal or picker.keeps_hot_keys or engine.flush_keeps_versions:
            raise InputError(
                f"conditions.snapshots: {engine.name} keeps old versions in another way, which is not modelled; set it to [], or "
                "choose engine=rocksdb"
            )
    if any(action is StoreAction.DELETE_RANGE for action in actions):
        raise InputError("conditions.snapshots: range tombstones beside snapshots are not modelled; leave out deleterange")


def _take(databases: Sequence[Database], now_s: float, unflushed: Sequence[float]) -> None:
    entries = iter(unflushed)
    for database in databases:
        assert database.snapshots is not None
        database.snapshots.take(now_s)
        for family in database.families:
            family.memtables.take_snapshot(now_s, next(entries))


def _release(databases: Sequence[Database], taken_s: float, now_s: float) -> None:
    """Release a snapshot; files that only it kept large are due for compaction (UpdateOldestSnapshot)."""
    for database in databases:
        assert database.snapshots is not None
        database.snapshots.release(taken_s)
        for family in database.families:
            family.tree.oldest_snapshot_s = min([now_s, *database.snapshots.open_s[:1]])
            database.compaction_due(family)
