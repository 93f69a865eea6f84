"""Cores, cost of a write and of a file from a LOG: what jobs waited for, memtables filled without a stall, fast commits."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import depth, write_cpu
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.parameters import perturbed
from lsmlab.validation.checkout import OWN_CASES
from lsmlab.validation.importer.clients import write_op
from lsmlab.validation.importer.configuration import infer
from lsmlab.validation.importer.estimates import Earlier, Estimate, Estimates, Observation
from lsmlab.validation.importer.importing import ImportedStore, summarised
from lsmlab.validation.importer.jobs import file_overhead
from lsmlab.validation.importer.reading import Reading, read
from lsmlab.validation.logs.history.fills import Fill

ENTRY_BYTES = 116.0


def imported(case: str) -> ImportedStore:
    """Import the first LOG of an own case, all of which were recorded on two cores."""
    return summarised(read(OWN_CASES / case / "1" / "LOG.xz"))


def test_jobs_that_waited_for_cores_give_their_number() -> None:
    """Two jobs and a writer without a cap shared two cores; the set of constants has them."""
    store = imported("calibration/cpu_v100")
    found = store.estimates.get("host.cores")

    assert found is not None
    assert (2.0, None) == (found.value, found.standard_error)
    assert 2.0 == store.inferred.parameters.host["cores"]
    assert any(note.startswith("host.cores: 2") for note in store.inferred.notes)


def test_unknown_cores_widen_the_interval(tmp_path: Path) -> None:
    """Jobs that waited for a cap say nothing of cores: those of host=default count, the fewest that were in use as well."""
    store = imported("calibration/bw80_v200")
    inferred = infer(store.reading, store.workload, store.estimates)
    place = tmp_path / "parameters" / "ours.yaml"
    place.parent.mkdir()
    place.write_text(str(inferred.parameters))
    caps = [f"limits.{key}={inferred.device[key]}" for key in ("write_cap", "read_cap")]
    unknown, known = (compose(["host.parameters=ours", *caps, *more], [tmp_path]) for more in ([], ["host.cores=4"]))

    assert store.estimates.get("host.cores") is None
    assert any(note.startswith("host.cores: the LOG does not show it") for note in store.estimates.notes)
    assert [Host().cores, 2.0] == [config["host"]["cores"] for config in perturbed(unknown)]
    assert [4, 4] == [config["host"]["cores"] for config in perturbed(known)]


def observed(scale: float, stalled: float = 0.0) -> Observation:
    """Return a store whose memtables filled without a stall: a write costs `scale` times the default host's, and its bytes."""
    entries, usual = 30_000.0, Host()
    cost_s = usual.write_op + usual.wal_op + depth(entries * ENTRY_BYTES) * 0.23 * usual.write_op
    bytes_s = write_cpu(ENTRY_BYTES, logged=True).seconds(usual) - usual.write_op - usual.wal_op
    lengths_us = np.random.default_rng(1).normal((scale * cost_s + bytes_s) * entries * 1e6, 100.0, 40).astype(int)
    ends = np.cumsum(lengths_us).tolist()
    fills = [Fill(end - length, end, entries) for end, length in zip(ends, lengths_us.tolist(), strict=True)]
    reading = SimpleNamespace(
        fills=fills, stalls=SimpleNamespace(intervals=[]), writes_per_sync=None, summary={"stall_fraction": stalled}
    )
    return Observation(cast(Reading, reading), entry_bytes=ENTRY_BYTES)


def cost(observation: Observation, machine: float = 1.0) -> tuple[Estimate | None, Estimates]:
    """Estimate host.write_op on a machine whose compactions take `machine` times the default."""
    names = ("host.compaction_record", "host.compaction_byte")
    earlier: Earlier = {
        name: Estimate(name, machine * getattr(Host(), name.removeprefix("host.")), None, "s", "estimate", "") for name in names
    }
    found = write_op(observation, earlier)
    return found.get("host.write_op"), found


def test_a_store_that_kept_up_shows_the_cost_of_a_write() -> None:
    """A writer that never waited wrote at full speed if its writes are as dear as the machine is slow; else it was idle."""
    near, _ = cost(observed(1.34))
    idle, notes = cost(observed(7.0))
    slow, _ = cost(observed(7.0), machine=1.8)
    held, _ = cost(observed(2.0, stalled=0.5))

    assert near is not None
    assert near.standard_error is not None
    assert (1.34, 0.34) == pytest.approx((near.value / Host().write_op, near.standard_error / Host().write_op), rel=0.05)
    assert idle is None
    assert "idle in part" in notes.notes[0]
    assert slow is not None
    assert held is not None
    assert [7.0, 2.0] == pytest.approx([one.value / Host().write_op for one in (slow, held)], rel=0.01)
    assert held.standard_error is not None
    assert 0.01 * Host().write_op > held.standard_error


def test_waits_before_a_commit_are_no_cost_of_a_file() -> None:
    """Under a cap most commits wait up to a slice, those of large compactions more often; the others show the cost per file."""
    rng = np.random.default_rng(3)
    jobs = []
    for number in range(120):
        files = 1 + number % 12
        waits_s = rng.uniform(0.0, 0.1) if rng.random() < 0.3 + 0.03 * files else 0.0
        end_us = 1_000_000 + round(1e6 * (2e-3 + 0.3e-3 * files * rng.uniform(1.0, 1.1) + waits_s))
        jobs.append(SimpleNamespace(outputs=[SimpleNamespace(created_us=1_000_000)] * files, end_us=end_us))
    reading = SimpleNamespace(jobs=SimpleNamespace(done=lambda _kind: jobs))
    found = file_overhead(Observation(cast(Reading, reading)), {}).estimates[0]

    assert found.name == "host.file_overhead"
    assert 0.3e-3 == pytest.approx(found.value, rel=0.25)
    assert found.standard_error is not None
    assert found.value > found.standard_error
