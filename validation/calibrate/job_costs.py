"""CPU time of a flush or compaction of a LOG as the cost model has it (models/costs/jobs.py)."""

from __future__ import annotations

from lsmlab.models.costs.cost import Cost
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.jobs import compaction_cpu, flush_cpu
from lsmlab.validation.logs.timings.jobs import Job


def job_cpu(job: Job, host: Host, slept_files: float = 0.0) -> Cost:
    """CPU time of a job. `host`: of its machine, for the shares of dropped entries, which are not linear.

    `slept_files`: output files whose fsync the job sleeps through. A LOG does not count the entries that a flush drops, nor
    does it say which jobs compare each key with the files below.
    """
    if job.kind == "flush":
        return flush_cpu(
            host, entries_in=job.records, entries_out=job.records, raw_bytes=job.raw_bytes, file_bytes=job.write_bytes
        )
    return compaction_cpu(
        host, entries_in=job.records, entries_out=job.records - job.dropped, raw_bytes=job.raw_bytes, runs=job.runs,
        file_bytes=job.read_bytes + job.output_bytes, slept_files=slept_files,
    )  # fmt: skip
