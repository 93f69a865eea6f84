"""Use of a WAL by an imported store: whether writes went to a WAL, and whether its bytes reached the device."""

from __future__ import annotations

import numpy as np
from lsmlab.models.costs.host import Host
from lsmlab.validation.importer.reading import Reading
from lsmlab.validation.importer.workload import InferredWorkload


def log_writes(reading: Reading, workload: InferredWorkload) -> bool:
    """Whether writes went to a WAL, according to the statistics; without statistics a WAL is assumed."""
    with_wal = wal_is_used(reading)
    return bool(workload.writes) if with_wal is None else with_wal


def wal_reaches_device(reading: Reading, workload: InferredWorkload) -> bool:
    """Whether the bytes of a WAL are written to the device before the WAL is deleted.

    They are if the WAL is synced, or if it lives longer than dirty_expire_centisecs. A WAL lives about twice as long as
    the memtable of the column family that fills its memtables most slowly.
    """
    if not log_writes(reading, workload):
        return False
    if reading.option("wal_bytes_per_sync") or not workload.fills:
        return True
    loads = [load for load in workload.families.values() if len(load.fills)] or [workload]
    filled_s = [float(np.median([end - start for start, end, _ in load.fills])) for load in loads]
    return 2.0 * max(filled_s) >= Host().dirty_expire


def wal_is_used(reading: Reading) -> bool | None:
    """Whether the statistics show bytes written to a WAL; None if no dump has both WAL bytes and writes."""
    with_wal = [
        dump.db["cumulative_wal_bytes"] > 0 or dump.db.get("cumulative_wal_writes", 0) > 0  # few bytes are 0.00 GB
        for dump in reading.log.dumps
        if "cumulative_wal_bytes" in dump.db
        and (dump.db.get("cumulative_keys") or dump.db.get("cumulative_ingest_bytes"))
    ]
    return any(with_wal) if with_wal else None
