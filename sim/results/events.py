"""Table of version edits and memtable switches (events.parquet), from the event logs of all shards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from lsmlab.sim.results.schema.run_tables import EVENTS
from lsmlab.sim.results.series import Table
from lsmlab.sim.store.event_log import EventKind, EventLog

_KINDS: Final = np.array([kind.name.lower() for kind in EventKind], dtype=object)


def events_table(logs: Sequence[EventLog]) -> Table:
    """Return the columns of events.parquet, with rows sorted by time, then shard, then column family.

    The rows of one version edit are adjacent, removed files first.
    """
    parts = [log.columns() for log in logs]
    rows = [len(part["time_s"]) for part in parts]
    found = parts[0] if len(parts) == 1 else {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    found = {**found, "kind": _KINDS[found["kind"]], "shard": np.repeat(np.array([g.shard for g in logs], np.int16), rows)}
    table = {name: found[name] for name in EVENTS.empty()}
    if len({log.family for log in logs}) > 1:
        table["column_family"] = np.repeat(np.array([log.family for log in logs], dtype=object), rows)
    if len(parts) > 1:
        order = np.lexsort((np.repeat(range(len(parts)), rows), table["time_s"]))
        table = {name: values[order] for name, values in table.items()}
    return table
