"""Calibration recovers known constants from synthetic records; the committed parameter sets are its output."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lsmlab.models.costs.host import Host, entry_speed
from lsmlab.models.costs.operations import Searched, point_read_cpu
from lsmlab.models.engines.table_reads import TableReads
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import NO_KEYS, KeyArray, SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.models.tree.tree import Tree
from lsmlab.reports.cli.calibrate import calibrate
from lsmlab.sim.clients.latency import Unstalled
from lsmlab.sim.clients.lookups import look_up
from lsmlab.sim.configuration.parameters import read_parameters
from lsmlab.validation.calibrate.client_equations import fills, sleeps
from lsmlab.validation.calibrate.fit import calibrate_cases, constants_for, equations_of, fit_runs
from lsmlab.validation.calibrate.hold_out import CASES
from lsmlab.validation.calibrate.recorded import RecordedRun
from lsmlab.validation.calibrate.searched_runs import FileRange, SortedRun, whole_run
from lsmlab.validation.calibrate.set_text import identifiability, parameter_text
from lsmlab.validation.calibrate.short_writes import interruptions, short_writes
from lsmlab.validation.calibrate.solve import Equation, FitConstant, solve
from lsmlab.validation.logs.bench_output import Histogram
from lsmlab.validation.logs.histogram_clock import bucket_bounds
from lsmlab.validation.logs.history.fills import Fill
from lsmlab.validation.logs.timings.timed_jobs import TimedJob

ROOT = Path(__file__).parents[1]
TRUE = {
    "host.flush_record": 0.5e-6, "host.flush_byte": 0.7e-9, "host.compaction_record": 0.2e-6,
    "host.compaction_byte": 2.0e-9, "host.compaction_compare": 40e-9, "host.write_op": 3.0e-6,
    "host.file_overhead": 0.8e-3, "device.write_bandwidth": 0.9e9,
    "device.read_bandwidth": 1.8e9, "device.fsync_latency": 5e-3,
}  # fmt: skip
"""Constants of the synthetic machine."""


def a_config(value_bytes: int, **options: Any) -> dict[str, Any]:
    """Return the settings that calibration reads, with direct I/O, so that write calls take the device's time."""
    store = {"disable_wal": True, "use_direct_io_for_flush_and_compaction": True, **options}
    return {
        "workload": {"key_size": 16, "value_size": value_bytes, "threads": 1},
        "engine": {"options": store},
        "device": {"write_cap": None, "read_cap": None, "iops_cap": None},
        "host": {"cores": 2},
    }


def a_run(name: str, value_bytes: int, seed: int, noise: float) -> RecordedRun:
    """Return a run of consecutive jobs with the costs of TRUE and log-normal noise on each time (sigma `noise`)."""
    rng = np.random.default_rng(seed)

    def about(seconds: float) -> float:
        return seconds * float(np.exp(noise * rng.standard_normal() - 0.5 * noise**2))

    entry = value_bytes + 16.0
    jobs, now_s = [], 0.0
    for number in range(80):
        flush = number % 2 == 0
        kind = "flush" if flush else "compaction"
        records = float(rng.uniform(1e5, 4e5))
        size = records * entry
        runs = (2, 8, 32)[number % 3]
        comparisons = 0.0 if flush else math.log2(runs / 2.0)
        per_record_s = TRUE[f"host.{kind}_record"] + comparisons * TRUE["host.compaction_compare"]
        cpu_s = about(records * (per_record_s + entry * TRUE[f"host.{kind}_byte"]))
        requests = math.ceil(size / 2**20)
        write_s = about(size / TRUE["device.write_bandwidth"] + requests * 15.2e-6)
        read_s = 0.0 if flush else about(size / TRUE["device.read_bandwidth"] + math.ceil(size / 2**21) * 73e-6)
        files = 1 if flush else 5
        job = TimedJob(kind, now_s, 0.0, records, size, read_bytes=0.0 if flush else size, runs=runs)
        job.files = [(now_s, size / files)] * files
        job.wall_s, job.cpu_s, job.write_s = cpu_s + write_s + read_s, cpu_s, write_s
        job.end_s = job.work_end_s + about(files * TRUE["host.file_overhead"] + TRUE["device.fsync_latency"])
        now_s = job.end_s + about(1e-3)
        jobs.append(job)
    operations = round(now_s / TRUE["host.write_op"])
    histogram = Histogram(operations, 3e-6, ((2.0, 3.0, operations // 2), (3.0, 4.0, operations // 2)))
    counters = ({"write_bytes": 3e8, "writes": 600.0, "read_bytes": 0.0, "reads": 0.0},)
    return RecordedRun(
        f"{name}/{seed}", name, a_config(value_bytes), now_s, operations, 0.0, tuple(jobs), {"write": histogram},
        counters, _fills(now_s), (), (), 1.0, False, "",
    )  # fmt: skip


def a_reading_run(cpu_s: float, requests: float) -> RecordedRun:
    """Return a run of a million gets without filters from an idle store of three L0 files and three levels.

    `cpu_s`: of a get; `requests`: to the device, per get.
    """
    writing = a_run("rr", 200, 1, 0.0)
    counters = ({"user_cpu_s": 1e6 * cpu_s, "system_cpu_s": 0.0, "reads": 1e6 * requests},)
    return replace(
        writing, config=a_config(200, bloom_bits=0), jobs=(), fills=(), counters=counters, files_per_level=(),
        histograms={"read": Histogram(1_000_000, cpu_s, ())},
        sorted_runs=tuple(map(whole_run, (4e6, 4e6, 4e6, 1.6e7, 9e7, 3.6e8))),
    )  # fmt: skip


def random_load(rng: np.random.Generator, keys: int, table_format: TableFormat) -> Tree:
    """Return a tree of three L0 files and three levels with random ones of `keys` keys.

    Files have gaps between them. The last level lacks the first third of the keys, which L2 covers better than the others.
    """
    def a_file(number: int, held: KeyArray) -> SortedFile:
        size = 216 * len(held)
        return SortedFile(number, int(held[0]), int(held[-1]), size, float(len(held)), held, table_format=table_format)

    def a_run(share: float, files: int, kept: float, first: float = 0.0, last: float = 1.0) -> list[SortedFile]:
        held = np.flatnonzero(rng.random(keys) < share)
        held = held[(held >= first * keys) & (held < last * keys)]
        parts = [part[: round(len(part) * kept)] for part in np.array_split(held, files)]
        return [a_file(100 * files + place, part) for place, part in enumerate(parts)]

    l0 = [a_run(0.01, 1, kept)[0] for kept in (1.0, 0.5, 1.0)]
    l2 = Level([*a_run(0.25, 4, 0.9, 0.0, 0.4), *a_run(0.25, 6, 0.3, 0.4)])
    return Tree(4, l0, [Level(), Level(a_run(0.15, 3, 0.2)), l2, Level(a_run(0.6, 20, 0.95, 0.33))])


@pytest.mark.parametrize("bloom_bits", [0.0, 10.0])
def test_the_simulator_counts_the_same_searches(bloom_bits: float) -> None:
    """Ranges, sizes and the share of found keys give the searches of each run that lookups in the simulator's tree count."""
    keys = 100_000
    table_format = TableFormat(bloom_bits=bloom_bits)
    tree = random_load(np.random.default_rng(1), keys, table_format)
    nothing = SimpleNamespace(kept_hot_keys=SimpleNamespace(keys=NO_KEYS), ranges=())
    engine = SimpleNamespace(reads_filters=True)
    family: Any = SimpleNamespace(
        tree=tree, table_formats=(table_format,), memtables=nothing, immutables=[], latest_options=engine
    )
    simulated = look_up(family, np.arange(keys))
    runs = [[file] for file in tree.l0] + [list(level) for level in tree.levels[1:]]
    ends = tuple(SortedRun(tuple(FileRange(f.lo / keys, f.hi / keys, float(f.size_bytes)) for f in run)) for run in runs)
    recorded = replace(
        a_reading_run(20e-6, 0.0), config=a_config(200, bloom_bits=bloom_bits), sorted_runs=ends, found_share=simulated.found
    )

    for mine, theirs in zip(recorded.searches, simulated.searched, strict=True):
        assert (mine.per_read, mine.found) == pytest.approx((theirs.per_read, theirs.found), rel=0.02, abs=3e-4)
        assert (mine.size_bytes, mine.false_positive) == (theirs.size_bytes, theirs.false_positive)
    assert recorded.runs_per_read == pytest.approx(simulated.runs, rel=0.005)
    searched = Searched(
        runs=simulated.runs, blocks=simulated.found + simulated.formats[0].false_positive_blocks,
        block_doublings=TableReads().index_searches(simulated.searched).block_doublings,
    )  # fmt: skip
    assert recorded.read.seconds(Host()) == pytest.approx(point_read_cpu(searched, Host()).seconds(Host()), rel=0.005)


def test_cached_reads_give_the_speed_of_reads() -> None:
    """Gets that search six blocks in memory for 26 us give read_speed; without them it follows the speed of compactions."""
    writing = [a_run(f"v{size}", size, seed, 0.05) for size in (100, 400, 1000) for seed in (1, 2)]

    _, read = fit_runs("nvme", [*writing, a_reading_run(26e-6, 0.0)])
    _, unread = fit_runs("nvme", [*writing, a_reading_run(90e-6, 1.0)])

    prior = next(c.prior for c in unread.constants if c.key == "host.read_speed")
    host = Host(compaction_record=unread.values["host.compaction_record"], compaction_byte=unread.values["host.compaction_byte"])
    assert prior == pytest.approx(entry_speed(host), rel=0.01)
    assert 0.5 * prior < read.values["host.read_speed"] < 0.8 * prior  # at the speed of compactions such a get takes 17 us


def _fills(until_s: float) -> tuple[Fill, ...]:
    """Return memtables of 100,000 entries, filled one after the other."""
    step_us = round(1e11 * TRUE["host.write_op"])
    starts = range(0, round(1e6 * until_s) - step_us, step_us)
    return tuple(Fill(start, start + step_us, 1e5) for start in starts)


def test_known_constants_are_recovered() -> None:
    """From records with 10 % of noise, each constant is recovered within three standard errors and within 15 %."""
    runs = [a_run(f"v{size}", size, seed, 0.1) for size in (100, 400, 1000) for seed in (1, 2)]
    equations = equations_of(runs)

    found = solve(constants_for("nvme", equations), equations)

    for key, true in TRUE.items():
        if key != "host.write_op":  # not determined separately from its cost per byte
            assert abs(found.values[key] - true) < max(3.0 * found.error(key), 1e-6 * true), key
            assert abs(math.log(found.values[key] / true)) < 0.15, key


def test_constants_without_records_are_left_out() -> None:
    """Read and sleep costs need records of reads and sleeps; latency stays at its prior if requests have one size."""
    equations = equations_of([a_run("v100", 100, seed, 0.1) for seed in (1, 2)])

    found = solve(constants_for("nvme", equations), equations)

    assert {"host.read_speed", "host.sleep_step"}.isdisjoint(found.values)
    assert {"device.write_latency", "device.read_latency"} <= set(found.undetermined())
    assert "device.write_latency" in identifiability(found)[0]


def test_errors_count_runs_not_jobs() -> None:
    """If all records of a run are off by the same factor, 250 of them have the uncertainty of one."""
    offsets = np.repeat([-0.3, -0.1, 0.1, 0.3], 250)
    names = [str(x) for x in offsets]
    equation = Equation("shared", lambda v: (np.log(v["a"]) - offsets) / 0.5, names, ("a",))

    found = solve([FitConstant("a", 1.0, 2.0)], [equation])

    expected = float(np.std([-0.3, -0.1, 0.1, 0.3], ddof=1) / 2.0)
    assert expected == pytest.approx(found.relative_errors["a"], rel=0.35)


def a_histogram(times_us: np.ndarray) -> Histogram:
    """Return the histogram that RocksDB's microsecond clock and buckets give for these times."""
    rng = np.random.default_rng(2)
    seen = np.floor(times_us + rng.uniform(size=len(times_us)))
    bounds = bucket_bounds()[:40]
    counts = np.bincount(np.searchsorted(np.array(bounds), seen, side="left"), minlength=len(bounds)).tolist()
    rows = tuple((float(a), float(b), n) for a, b, n in zip((0, *bounds), bounds, counts, strict=False) if n)
    return Histogram(len(times_us), float(times_us.mean()) * 1e-6, rows)


def log_logistic(mean_us: float, spread: float, count: int) -> np.ndarray:
    """Return times of unstalled writes in us, at evenly spaced quantiles."""
    part = Unstalled(1.0, mean_us, spread)
    return np.array([part.quantile(q) for q in (np.arange(count) + 0.5) / count])


@pytest.mark.parametrize(("mean_us", "true"), [(1.4, 0.3), (1.6, 0.45), (4.0, 0.35)])
def test_clock_resolution_is_corrected(mean_us: float, true: float) -> None:
    """Mean and spread of unstalled writes are recovered from buckets as wide as the times, despite a tail of waits."""
    held_up = np.full(400, 50.0)

    found = short_writes(a_histogram(np.concatenate((log_logistic(mean_us, true, 200_000), held_up))))

    assert (mean_us * 1e-6, true) == pytest.approx(found, rel=0.03)


def test_sleeps_are_measured_beside_stops() -> None:
    """In a capped run with 40,000 sleeps of 1.07 ms and 150 stops, the length of a sleep is found within 1 %."""
    stops_us = np.exp(np.linspace(np.log(50e3), np.log(110e3), 150))
    histogram = a_histogram(np.concatenate((np.full(100_000, 1.5), np.full(40_000, 1070.0), stops_us)))
    run = replace(a_run("sleeps", 200, 1, 0.1), histograms={"write": histogram}, stall_s=42.8 + stops_us.sum() * 1e-6)
    capped = replace(run, config={**run.config, "device": {"write_cap": "80MB/s"}})

    found = sleeps([capped])

    assert found is not None
    assert sleeps([run]) is None, "on busy cores a wait looks like a sleep"
    assert abs(float(found.misses({"host.sleep_step": 1.07e-3})[0])) < 0.01 / 0.05


def test_interruptions_are_recovered() -> None:
    """If one write in 1,400 of 1.5 us takes 50 us longer, the interval between interruptions is 2.1 ms of CPU time."""
    times = np.concatenate((log_logistic(1.5, 0.36, 1_400_000), log_logistic(50.0, 0.3, 1000)))
    run = replace(a_run("held_up", 200, 1, 0.1), histograms={"write": a_histogram(times)})

    found = interruptions([run])

    assert found is not None
    misses = found.misses({"host.interrupt_every": 2.1e-3, "host.interrupt": 48.5e-6})
    assert np.abs(misses).max() < 0.08 / 0.2


def test_write_cost_comes_from_unstalled_memtables() -> None:
    """In a run with stalls and lost client time, the memtables filled between stalls give the CPU cost of a write."""
    run = a_run("stalled", 200, 1, 0.1)
    slow = replace(run, operations=run.operations // 2)

    equation = fills([slow])

    assert equation is not None
    values = dict.fromkeys(equation.keys, 0.0) | {"host.write_op": TRUE["host.write_op"]}
    busy = sum(job.cpu_s for job in run.jobs) / run.jobs[-1].work_end_s
    further_s = run.write.seconds(replace(run.host, write_op=0.0, memtable_depth=0.0))  # of the bytes
    known = values | {"host.write_op": TRUE["host.write_op"] - further_s}
    assert equation.misses(known) * 0.08 == pytest.approx([0.0], abs=1e-6)
    config = {**slow.config, "host": {**slow.config["host"], "core_contention": 0.5}}
    shared = fills([replace(slow, config=config)])
    assert shared is not None
    assert shared.misses(known) * 0.08 == pytest.approx([math.log(1.0 + 0.5 * busy)], rel=0.05)


def test_several_writers_give_the_handover_of_their_group() -> None:
    """Two writers on two cores: what a write takes longer than the serial part of that of one is the handover."""
    alone = a_run("alone", 200, 1, 0.1)
    config = {**alone.config, "workload": {**alone.config["workload"], "threads": 2}}
    both = replace(alone, config=config, jobs=())
    equation = fills([both])

    assert equation is not None
    assert "host.group_handover" in equation.keys
    further_s = alone.write.seconds(replace(alone.host, write_op=0.0, memtable_depth=0.0))
    known = dict.fromkeys(equation.keys, 0.0) | {"host.write_op": (TRUE["host.write_op"] - 1e-6) / 0.74 - further_s}
    assert equation.misses(known | {"host.group_handover": 1e-6}) == pytest.approx([0.0], abs=1e-6)


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("recording_vm", CASES),
        pytest.param("epyc_vm", CASES.with_name("calibration_epyc"), marks=pytest.mark.slow),
        pytest.param("zen5_vm", CASES.with_name("calibration_zen5"), marks=pytest.mark.slow),
        pytest.param("emerald_vm", CASES.with_name("calibration_emerald"), marks=pytest.mark.slow),
        pytest.param("sixth_vm", CASES.with_name("calibration_sixth"), marks=pytest.mark.slow),
    ],
)
def test_committed_parameters_equal_the_fit(name: str, folder: Path) -> None:
    """A parameter set of configs/parameters is, byte for byte, the fit to the committed recordings of its machine."""
    committed = ROOT / "configs" / "parameters" / f"{name}.yaml"

    text = parameter_text(calibrate_cases(folder))

    assert committed.read_text(encoding="utf-8") == text, f"run: lsmlab calibrate {folder} --out {committed}"


def test_a_written_set_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file of --out loads as a parameter set with the standard errors of --json for all determined constants."""
    folder = tmp_path / "parameters"
    folder.mkdir()

    code = calibrate([str(CASES / "cpu_v100"), "--out", str(folder / "mine.yaml"), "--json"])

    fitted = json.loads(capsys.readouterr().out)["constants"]
    found = read_parameters("mine", [tmp_path])
    assert 0 == code
    assert 2 == found.host["cores"]
    informed = {k.replace("device.", "devices.nvme.") for k, c in fitted.items() if c["informed"] and "." in k}
    assert informed == set(found.standard_errors)
    for key, error in found.standard_errors.items():
        assert error == pytest.approx(fitted[key.replace("devices.nvme.", "device.")]["standard_error"], rel=1e-3)


def a_copy(tmp_path: Path, change: Mapping[str, str]) -> Path:
    """Copy a recorded case with some texts of its case.yaml replaced."""
    copy = tmp_path / "cases" / "bw80_v200"
    shutil.copytree(CASES / "bw80_v200", copy)
    text = (copy / "case.yaml").read_text(encoding="utf-8")
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    (copy / "case.yaml").write_text(text, encoding="utf-8")
    return copy


@pytest.mark.parametrize("part", ["test", "quarantine"])
def test_cases_of_other_parts_are_refused(tmp_path: Path, part: str) -> None:
    """Calibration refuses test and quarantined cases; the message names case and part."""
    a_copy(tmp_path, {"part: calibration": f"part: {part}"})

    with pytest.raises(InputError, match=f"bw80_v200: this case is of part: {part}"):
        calibrate_cases(tmp_path)


def test_cases_without_a_recording_are_refused(tmp_path: Path) -> None:
    """A case without a recording is refused; the message names `lsmlab record`."""
    copy = a_copy(tmp_path, {})
    text = (copy / "case.yaml").read_text(encoding="utf-8").partition("# --- recorded")[0]
    (copy / "case.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(InputError, match="lsmlab record"):
        calibrate_cases(tmp_path)


def test_a_missing_or_damaged_file_is_named(tmp_path: Path) -> None:
    """Errors for missing counters and for an output without a result name the file."""
    copy = a_copy(tmp_path, {})
    (copy / "1" / "stdout.txt.xz").unlink()
    (copy / "1" / "stdout.txt").write_text("db_bench: out of memory\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"stdout\.txt: db_bench printed no result"):
        calibrate_cases(tmp_path)

    (copy / "1" / "counters.csv.xz").unlink()
    with pytest.raises(InputError, match=r"counters\.csv is missing"):
        calibrate_cases(tmp_path)


def test_two_machines_are_not_mixed(tmp_path: Path) -> None:
    """Cases recorded on different machines are refused."""
    a_copy(tmp_path, {"cores: 2": "cores: 4"})
    shutil.copytree(CASES / "cpu_v100", tmp_path / "cases" / "cpu_v100")

    with pytest.raises(InputError, match=r"record\.cores differs"):
        calibrate_cases(tmp_path)
