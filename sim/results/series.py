"""Series per second from events at arbitrary times."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from lsmlab.models.engines.engine import Engine
from lsmlab.sim.clients.latency import QUANTILES, Floats, queue_pieces, ramps
from lsmlab.sim.machine.device_station import TransferLog
from lsmlab.sim.machine.machine import Consumer
from lsmlab.sim.store.recorder import StoreRecorder
from lsmlab.sim.store.records import CAUSES, shown_causes
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lsmlab.sim.clients.all_clients import AllClients
    from lsmlab.sim.clients.group import ClientGroup

Table = dict[str, NDArray[Any]]
"""Columns of equal length by name."""

_POINT_S: Final = 1e-9
"""Minimum length of an interval, so that an amount at one instant has a finite rate."""


def spread(start: Floats, end: Floats, amount: Floats, seconds: Floats) -> Floats:
    """Return the amount per interval between the edges `seconds`. Shape (len(seconds) - 1,).

    Each `amount` accrues at a constant rate from `start` to `end`.
    """
    if not len(start):
        return np.zeros(len(seconds) - 1)
    length = np.maximum(end - start, _POINT_S)
    slope = amount / length
    total = ramps(start, slope, seconds) - ramps(start + length, slope, seconds)
    return np.maximum(np.diff(total), 0.0)


def step_values(times: Floats, values: Floats, at: Floats, before: float = 0.0) -> Floats:
    """Return the values of step functions at the times `at`; `before` for times before their first step.

    `values`: shape (..., len(times)); result: shape (..., len(at)).
    """
    if not len(times):
        return np.full((*values.shape[:-1], len(at)), before)
    index = np.searchsorted(times, at, side="right") - 1
    return np.where(index >= 0, values[..., np.maximum(index, 0)], before)


def client_series(clients: AllClients, seconds: Floats) -> Table:
    """Return operations, user bytes, the open-loop backlog and the waiting time by stall cause, per second."""
    writes = np.zeros(len(seconds) - 1)
    reads = np.zeros(len(seconds) - 1)
    backlog = np.zeros(len(seconds) - 1)
    user_bytes = np.zeros(len(seconds) - 1)
    for load in clients.loads:
        own = np.zeros(len(seconds) - 1)
        for group in load.groups:
            curve = group_curve(group)
            ops = np.diff(np.interp(seconds, curve[:, 0], curve[:, 2]))
            own += ops * group.write_share
            reads += ops * (group.read_share + group.scan_share)
            if not group.closed:
                backlog += np.maximum(np.interp(seconds[1:], curve[:, 0], curve[:, 1] - curve[:, 2]), 0.0)
        writes += own
        user_bytes += own * load.shape.user_bytes
    waits = clients.waits()
    table: Table = {"write_ops": writes, "read_ops": reads, "user_bytes": user_bytes}
    table["backlog_ops"] = backlog
    for cause in shown_causes(CAUSES[int(i)] for i in set(waits[:, 2].tolist())):
        rows = waits[waits[:, 2] == CAUSES.index(cause)]
        waited = (rows[:, 1] - rows[:, 0]) * rows[:, 3]
        table[f"stall_{cause.value}_s"] = spread(rows[:, 0], rows[:, 1], waited, seconds)
    return table


def group_curve(group: ClientGroup) -> Floats:
    """Return rows of (time in s, operations arrived, operations served) of a client group."""
    return np.frombuffer(group.curve, dtype=np.float64).reshape(-1, 3)


def waiting_pieces(group: ClientGroup, seconds: Floats) -> Floats:
    """Return the pieces of all queued operations of an open-loop group; a closed loop has none."""
    if group.closed:
        return np.empty((0, 4))
    curve = group_curve(group)
    last = np.append(curve[1:, 0] > curve[:-1, 0], True)  # keep the last row of each time
    curve = curve[last]
    return queue_pieces(curve[:, 0], curve[:, 1], curve[:, 2], seconds)


def quantile_series(pieces: Floats, ops: Floats, seconds: Floats, unstalled: Mapping[str, float]) -> dict[str, Floats]:
    """Return latency percentiles (names as in `latency.QUANTILES`) and maximum of each second, in s.

    `unstalled`: the same percentiles of unstalled operations. Within a second, unstalled operations rank before all
    delayed ones, because a delay is long compared with an unstalled operation.
    """
    n = len(seconds) - 1
    result = {name: np.where(ops > 0, value, 0.0) if value else np.zeros(n) for name, value in unstalled.items()}
    if not len(pieces):
        return result
    second = np.clip(np.searchsorted(seconds, pieces[:, 0], side="right") - 1, 0, n - 1)
    middle = 0.5 * (pieces[:, 2] + pieces[:, 3])
    order = np.lexsort((middle, second))
    second, middle, count = second[order], middle[order], pieces[order, 1]
    high = np.maximum(pieces[order, 2], pieces[order, 3])
    total = np.bincount(second, count, n)
    every = np.maximum(ops, total)
    cumulative = np.cumsum(count)
    before = np.concatenate(([0.0], np.cumsum(total)[:-1]))
    usual_s = unstalled["p50"]
    for name, q in QUANTILES.items():
        rank = q * every - (every - total)
        touched = (rank > 0) & (total > 0)
        at = np.searchsorted(cumulative, before[touched] + rank[touched], side="left")
        result[name][touched] = middle[np.minimum(at, len(middle) - 1)] + usual_s
    np.maximum.at(result["max"], second, high + usual_s)
    return result


def transfer_series(logs: Sequence[TransferLog], seconds: Floats) -> Table:
    """Return bytes per second of all devices by consumer, without transfers that are still running at the end of the run.

    `logs`: one per device.
    """
    filled = [np.frombuffer(log.rows, dtype=np.float64).reshape(-1, 4) for log in logs if log.rows]
    rows = np.concatenate(filled) if len(filled) > 1 else filled[0] if filled else np.empty((0, 4))
    table: Table = {}
    for consumer in Consumer:
        name = consumer.name.lower()
        for direction, offset in (("read", 0), ("write", TransferLog.WRITE)):
            part = rows[rows[:, 0] == consumer + offset]
            table[f"{direction}_bytes_{name}_per_s"] = spread(part[:, 1], part[:, 2], part[:, 3], seconds)
    return table


_BLOBS: Final = ("blob_files", "blob_bytes", "blob_garbage_bytes")
"""Columns of stores with blob files."""


def state_series(recorders: Sequence[StoreRecorder], seconds: Floats) -> Table:
    """Return the state at the end of each second, over all column families of all shards.

    Columns: L0 files, immutable memtables, pending compaction bytes, delayed write rate, running jobs, bytes and files per
    level. Counts and bytes are sums; the delayed write rate is the lowest one.
    """
    at = seconds[1:]
    levels = max(recorder.num_levels for recorder in recorders)
    counted, running = ("l0_files", "immutables", "pending_bytes"), ("running_flushes", "running_compactions")
    rate = "delayed_rate_bytes_per_s"
    sizes, files = [f"level_bytes_{i}" for i in range(levels)], [f"level_files_{i}" for i in range(levels)]
    table: Table = {name: np.zeros(len(at)) for name in (*counted, rate, *running, *sizes, *files)}
    table[rate] += np.inf
    for recorder in recorders:
        states, activity = _rows(recorder.states, StoreRecorder.STATE_WIDTH), _rows(recorder.activity, 3)
        steps = [
            *((name, states[0], values) for name, values in zip(counted, states[1:4], strict=True)),
            *((name, activity[0], values.cumsum()) for name, values in zip(running, activity[1:], strict=True)),
        ]
        for level_states, *names in zip(recorder.level_states, sizes, files, strict=False):
            level = _rows(level_states, 3)
            steps += [(name, level[0], values) for name, values in zip(names, level[1:], strict=True) if len(values)]
        blobs = _rows(recorder.blob_states, 4)
        steps += [(name, blobs[0], values) for name, values in zip(_BLOBS, blobs[1:], strict=True) if len(values)]
        for name, times, values in steps:  # one column at a time: a long run has many rows
            table[name] = table.get(name, 0.0) + step_values(times, values, at)
        table[rate] = np.minimum(table[rate], step_values(states[0], states[4], at, np.inf))
    table[rate][np.isinf(table[rate])] = 0.0
    return table


def _rows(numbers: array[float], width: int) -> Floats:
    """Return the columns of a flat table of rows of `width` numbers. Shape (width, rows)."""
    return np.frombuffer(numbers, dtype=np.float64).reshape(-1, width).T


def option_series(recorders: Sequence[StoreRecorder], engine: Engine, seconds: Floats) -> Table:
    """Return columns `option_<name>` of the options that a tuner changed: value at the end of each second.

    The value is the mean over all column families of all shards. `engine`: with the options at the start of the run.
    """
    changed = {name: None for r in recorders for _, changes in r.options for name in changes}
    table: Table = {}
    for name in changed:
        before = engine.setting(name)
        if not isinstance(before, int | float):
            continue
        total = np.zeros(len(seconds) - 1)
        for recorder in recorders:
            rows = [(at_s, float(changes[name])) for at_s, changes in recorder.options if name in changes]
            times, values = np.array(rows).reshape(-1, 2).T
            total += step_values(times, values, seconds[1:], float(before))
        table[f"option_{name.replace('.', '_')}"] = total / len(recorders)
    return table
