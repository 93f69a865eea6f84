"""CPU cost of checksums on hosts without a checksum instruction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from running import SMALL, configuration, run


def first_jobs(cost: str) -> dict[str, Any]:
    """Return columns of the first flush and of the first compaction, at a cost per checksummed byte."""
    jobs = run(configuration("engine=rocksdb", "workload=fillrandom", *SMALL, f"host.checksum_byte={cost}")).jobs
    kind = np.asarray(jobs["kind"])
    rows = [int(np.flatnonzero(kind == name)[0]) for name in ("flush", "compaction")]
    return {name: np.asarray(jobs[name])[rows] for name in ("cpu_s", "read_bytes", "write_bytes", "entries_in")}


def test_flushes_checksum_writes_and_compactions_also_reads() -> None:
    """A flush checksums the bytes that it writes; a compaction also those that it reads."""
    free, checksummed = first_jobs("0"), first_jobs("1ns")

    assert free["entries_in"].tolist() == checksummed["entries_in"].tolist()
    flush_s, compaction_s = (checksummed["cpu_s"] - free["cpu_s"]).tolist()
    assert 1e-9 * checksummed["write_bytes"][0] == pytest.approx(flush_s)
    assert 1e-9 * (checksummed["read_bytes"][1] + checksummed["write_bytes"][1]) == pytest.approx(compaction_s)
