"""Jobs still running at the end of the run: their rows, and the stalls that they cause."""

from __future__ import annotations

import pandas as pd
import pytest
from lsmlab.models.policies.decisions import StallCause
from lsmlab.sim.explain.chains import chain_of, holding_job
from lsmlab.sim.results.results import Result
from lsmlab.sim.results.schema.run_tables import JOBS
from lsmlab.sim.store.records import JobRecord, StallInterval
from running import SMALL, simulate

END_S = 3.0


def stopped() -> Result:
    """Return a run that ends while writes are stopped."""
    return simulate(*SMALL, "device.write_cap=4MiB/s", f"workload.duration={END_S}s")


def record(job: int, kind: str, start_level: int, start_s: float, **changes: object) -> JobRecord:
    """Return a job that is unfinished at 10 s."""
    values = {c.name: "" if c.dtype == "string" else 0 for c in JOBS.columns if not c.optional}
    values |= {"job": job, "kind": kind, "start_level": start_level, "output_level": start_level + 1, "start_s": start_s}
    return JobRecord(**{**values, "parent": -1, "end_s": 10.0, "unfinished": True, **changes})  # type: ignore[arg-type]


def test_jobs_that_run_at_the_end_are_in_the_table() -> None:
    """Unfinished jobs end with the run, have done part of their work and have no output files."""
    result = stopped()
    jobs = pd.DataFrame(result.jobs)
    running = jobs[jobs.unfinished]

    assert len(running) > 0
    assert {END_S} == set(running.end_s)
    assert {0} == set(running.output_files)
    assert (running.start_s < END_S).all()
    assert int(result.series["running_compactions"][-1]) == (running.kind == "compaction").sum()


def test_bytes_of_unfinished_jobs_are_partial() -> None:
    """In a longer run with the same seed the same job finishes and writes more bytes."""
    longer = pd.DataFrame(simulate(*SMALL, "device.write_cap=4MiB/s", f"workload.duration={END_S + 10}s").jobs).set_index("job")
    jobs = pd.DataFrame(stopped().jobs)

    for job in jobs[jobs.unfinished].itertuples():
        done = longer.loc[job.job]
        assert (done.start_s, done.kind, done.parent) == (job.start_s, job.kind, job.parent)
        assert not done.unfinished
        assert job.write_bytes < done.write_bytes


def test_summary_counts_finished_jobs_only() -> None:
    """Counts and bytes of the summary exclude unfinished jobs, as RocksDB's own tables do."""
    result = stopped()
    jobs = pd.DataFrame(result.jobs)
    done = jobs[~jobs.unfinished]

    assert result.summary["flush_count"] == (done.kind == "flush").sum()
    assert result.summary["compaction_count"] == (done.kind == "compaction").sum()
    assert result.summary["flush_bytes"] == done[done.kind == "flush"].write_bytes.sum()


def test_an_unfinished_stall_ends_with_an_unfinished_job() -> None:
    """The chain of an unfinished stall ends with an unfinished job; other chains contain finished jobs only."""
    result = stopped()
    stalls, jobs = pd.DataFrame(result.stalls), pd.DataFrame(result.jobs).set_index("job")
    last = stalls[stalls.unfinished]

    assert [END_S] == list(last.end_s)
    assert [True] == [bool(jobs.unfinished[chain[-1]]) for chain in last.chain_jobs]
    ended = [jobs.unfinished[job] for chain in stalls[~stalls.unfinished].chain_jobs for job in chain]
    assert not any(ended)


def test_events_name_the_inputs_of_unfinished_compactions() -> None:
    """At the end of the run an event of kind input names each input file of an unfinished compaction."""
    result = stopped()
    events, jobs = pd.DataFrame(result.events), pd.DataFrame(result.jobs)
    running = jobs[jobs.unfinished & (jobs.kind == "compaction")]
    inputs = events[(events.kind == "input") & (events.time_s == END_S)]

    assert len(running) > 0
    assert (running.input_files + running.input_files_output_level).sum() == len(inputs)


@pytest.mark.parametrize(
    ("cause", "running", "expected"),
    [
        (StallCause.MEMTABLE_STOP, [record(1, "compaction", 0, 1.0), record(3, "flush", -1, 3.0),
                                    record(2, "flush", -1, 2.0)], 2),
        (StallCause.MEMTABLE_STOP, [record(1, "compaction", 2, 1.0), record(2, "compaction", 0, 2.0)], 2),
        (StallCause.L0_STOP, [record(1, "compaction", 2, 1.0), record(2, "flush", -1, 0.0), record(3, "compaction", 0, 2.0)], 3),
        (StallCause.L0_SLOWDOWN, [record(1, "compaction", 2, 1.0), record(2, "compaction", 1, 2.0)], 2),
        (StallCause.PENDING_STOP, [record(1, "compaction", 2, 1.0), record(2, "compaction", 0, 2.0)], 1),
        (StallCause.L0_STOP, [record(2, "flush", -1, 0.0)], -1),
    ],
)  # fmt: skip
def test_the_job_that_a_stall_waits_for(cause: StallCause, running: list[JobRecord], expected: int) -> None:
    """Memtable stops wait for the oldest flush, L0 stalls for a compaction from L0, others for the oldest one."""
    assert expected == holding_job(cause, running)


def test_the_chain_goes_back_from_the_unfinished_job() -> None:
    """Parents that ended during the stall belong to the chain; parents that ended before do not."""
    jobs = {
        1: record(1, "compaction", 1, 0.0, end_s=2.0, unfinished=False, write_bytes=10),
        2: record(2, "compaction", 1, 2.0, end_s=6.0, unfinished=False, write_bytes=20, parent=1),
        3: record(3, "compaction", 0, 6.0, write_bytes=5, parent=2),
    }
    stall = StallInterval(StallCause.L0_STOP, 4.0, 10.0, 0, unfinished=True)
    chain = chain_of(stall, jobs.get, [jobs[3]])

    assert ((2, 3), 25, 2) == (chain.jobs, chain.size_bytes, chain.levels)
    assert chain.compactions == 2
