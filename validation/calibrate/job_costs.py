"""CPU cost of a flush or compaction in a LOG, by the cost model (models/costs/jobs.py)."""

from __future__ import annotations

from lsmlab.models.costs.cost import Cost
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.jobs import compaction_cpu, flush_cpu
from lsmlab.validation.logs.timings.jobs import Job


def job_cpu(job: Job, host: Host, slept_files: float = 0.0) -> Cost:
    """Return the CPU cost of a job.

    `host`: host of its machine; the cost of dropped entries is not linear in the host's constants. `slept_files`:
    number of output files during whose fsync the job sleeps. A LOG shows neither the entries that a flush drops nor
    which jobs compare each key with the files below, so both are left out.
    """
    if job.kind == "flush":
        return flush_cpu(
            host, entries_in=job.records, entries_out=job.records, raw_bytes=job.raw_bytes, file_bytes=job.write_bytes
        )
    return compaction_cpu(
        host, entries_in=job.records, entries_out=job.records - job.dropped, raw_bytes=job.raw_bytes, runs=job.runs,
        file_bytes=job.read_bytes + job.output_bytes, slept_files=slept_files,
    )  # fmt: skip
