"""Whether writes of an imported log went to a write-ahead log, and whether its bytes reached the device."""

from __future__ import annotations

import numpy as np
from lsmlab.models.costs.host import Host
from lsmlab.validation.importer.reading import Reading
from lsmlab.validation.importer.workload import InferredWorkload


def log_writes(reading: Reading, workload: InferredWorkload) -> bool:
    """Whether writes went to a write-ahead log: its statistics say so, or say nothing at all."""
    told = wal_is_used(reading)
    return bool(workload.writes) if told is None else told


def wal_reaches_device(reading: Reading, workload: InferredWorkload) -> bool:
    """Whether the log's bytes are written before the log is deleted: it is synced, or older than dirty pages may get.

    A log lives about twice as long as its memtable is filled.
    """
    if not log_writes(reading, workload):
        return False
    if reading.option("wal_bytes_per_sync") or not workload.fills:
        return True
    return 2.0 * float(np.median([end - start for start, end, _ in workload.fills])) >= Host().dirty_expire


def wal_is_used(reading: Reading) -> bool | None:
    """Whether the statistics show bytes in the write-ahead log; None if there are none of a store that was written to."""
    told = [
        dump.db["cumulative_wal_bytes"] > 0
        for dump in reading.log.dumps
        if "cumulative_wal_bytes" in dump.db
        and (dump.db.get("cumulative_keys") or dump.db.get("cumulative_ingest_bytes"))
    ]
    return any(told) if told else None
