"""A build of RocksDB with assertions takes more CPU time; constants of a host are those of a release build."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from lsmlab.models.costs.assertions import ASSERTED, of_build
from lsmlab.models.costs.host import Host
from lsmlab.models.costs.operations import Searched, point_read_cpu
from lsmlab.models.errors import InputError
from lsmlab.validation.calibrate.fit import fit_runs
from lsmlab.validation.calibrate.hold_out import CASES
from lsmlab.validation.calibrate.recorded import read_run
from lsmlab.validation.casefiles.case import read_case
from running import SMALL, simulate
from test_calibrate import a_run


def test_assertions_multiply_the_constants_of_the_table() -> None:
    """A release build keeps its constants. Assertions multiply those in the table, and the costs of reads that are in it."""
    release = Host()
    asserted = of_build(replace(release, assertions=1.0))
    reads = [point_read_cpu(Searched(memtables=n), host).seconds(host) for host in (release, asserted) for n in (0.0, 1.0)]

    assert of_build(release) == release
    for field in fields(Host):
        if field.name != "assertions":
            ratio = getattr(asserted, field.name), ASSERTED.get(field.name, 1.0) * getattr(release, field.name)
            assert ratio[0] == pytest.approx(ratio[1]), field.name
    assert (reads[3] - reads[2]) / (reads[1] - reads[0]) == pytest.approx(ASSERTED["read_memtable"])


def test_unstalled_puts_take_longer_with_assertions() -> None:
    """Without stalls and WAL, throughput falls by the ratio of the times of a put."""
    store = (*SMALL, "engine.options.write_buffer_size=1GiB", "engine.options.disable_wal=true", "workload.num=20000")
    release = simulate(*store)
    asserted = simulate(*store, "host.assertions=1")

    ratio = release.summary["ops_per_s"] / asserted.summary["ops_per_s"]
    assert ratio == pytest.approx(ASSERTED["write_op"], rel=0.02)


def test_a_set_of_recordings_with_assertions_predicts_both_builds() -> None:
    """A parameter set keeps the build of its recordings; host.assertions=0 predicts a release build on the same machine."""
    store = (*SMALL, "engine.options.write_buffer_size=1GiB", "engine.options.disable_wal=true", "workload.num=20000")
    rates = [
        simulate(*store, "host.parameters=recording_vm", *build).summary["ops_per_s"] for build in ((), ("host.assertions=0",))
    ]

    assert rates[1] / rates[0] == pytest.approx(ASSERTED["write_op"], rel=0.02)


def test_a_fit_to_runs_with_assertions_gives_a_release_build() -> None:
    """The same records give constants that are smaller by the ratio of the builds, and hardly other costs of bytes."""
    runs = [a_run("v400", 400, seed, 0.1) for seed in (1, 2)]
    release = fit_runs("nvme", runs)[1]
    asserted = fit_runs("nvme", [replace(run, assertions=True) for run in runs])[1]

    for key, value in asserted.values.items():
        ratio = ASSERTED.get(key.removeprefix("host."), 1.0)
        assert value * ratio == pytest.approx(release.values[key], rel=0.01), key
    assert asserted.relative_errors == pytest.approx(release.relative_errors, rel=0.05)


def test_builds_are_not_mixed_in_a_fit() -> None:
    """Runs of both builds raise one error that names a run."""
    runs = [replace(a_run("v400", 400, seed, 0.1), assertions=seed == 2) for seed in (1, 2)]

    with pytest.raises(InputError, match="v400/1: its RocksDB has no assertions"):
        fit_runs("nvme", runs)


def test_the_output_of_a_recording_tells_its_build() -> None:
    """Debian's db_bench, with which the calibration was recorded, warns of its assertions."""
    case = read_case(CASES / "cpu_v100")

    assert read_run(case.directory / "1", case.name, case.config()).assertions
