"""Table of version edits and memtable switches (events.parquet), from the event logs of all shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from lsmlab.models.tree.keys import KeySample
from lsmlab.sim.results.schema.run_tables import EVENTS
from lsmlab.sim.results.series import Table
from lsmlab.sim.store.event_log import EventKind, EventLog

_KINDS = np.array([kind.name.lower() for kind in EventKind], dtype=object)


def events_table(logs: Sequence[EventLog], samples: Mapping[str, KeySample]) -> Table:
    """Return the columns of events.parquet, with rows sorted by time, then shard, then column family.

    The rows of one version edit are adjacent, removed files first. `samples`: sampled keys by column family.
    """
    parts = [_columns(log, samples[log.family]) for log in logs]
    table = {name: np.concatenate([part[name] for part in parts]) for name in EVENTS.empty()}
    if len({log.family for log in logs}) > 1:
        names = [np.full(len(part["shard"]), log.family, dtype=object) for log, part in zip(logs, parts, strict=True)]
        table["column_family"] = np.concatenate(names)
    if len(parts) > 1:
        order = np.lexsort((np.repeat(range(len(parts)), [len(p["shard"]) for p in parts]), table["time_s"]))
        table = {name: values[order] for name, values in table.items()}
    return table


def _columns(log: EventLog, sample: KeySample) -> Table:
    moments = np.frombuffer(log.moments, dtype=np.float64).reshape(-1, EventLog.MOMENT_WIDTH)
    files = np.frombuffer(log.files, dtype=np.int64).reshape(-1, EventLog.FILE_WIDTH)
    removals = np.frombuffer(log.removals, dtype=np.int64).reshape(-1, EventLog.REMOVAL_WIDTH)
    order = np.argsort(np.concatenate((removals[:, 0], files[:, 0])), kind="stable")
    last_code = 2.0 * sample.population  # the code of a key is twice its position in key order (models/tree/keys.py)

    def column(place: int, absent: int, dtype: str) -> np.ndarray:
        """Return column `place` of the rows of `removals` and `files` in order; `absent` for columns that `removals` lacks."""
        head = removals[:, place] if place < EventLog.REMOVAL_WIDTH else np.full(len(removals), absent)
        return np.concatenate((head, files[:, place]))[order].astype(dtype)

    moment = column(0, 0, "int64")
    return {
        "time_s": moments[moment, 0],
        "shard": np.full(len(order), log.shard, dtype=np.int16),
        "job": moments[moment, 1].astype(np.int32),
        "kind": _KINDS[column(1, 0, "int8")],
        "file": column(2, 0, "int32"),
        "from_level": column(3, -1, "int8"),
        "to_level": column(4, -1, "int8"),
        "smallest": (column(5, 0, "float64") / last_code).astype(np.float32),
        "largest": (column(6, 0, "float64") / last_code).astype(np.float32),
        "bytes": column(7, 0, "int64"),
        "entries": column(8, 0, "int64"),
        "linked_to": column(9, -1, "int32"),
    }
