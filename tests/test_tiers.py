"""Stores on several devices: places of files, accounts of each device, and what is refused.

Source: (behaviour/tiered-placement.md, Tiered placement).
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from draining import drain
from lsmlab.models.engines.engine import PLACES_NOTE
from lsmlab.models.errors import InputError
from lsmlab.models.options.options import resolve_options
from lsmlab.models.options.options_file import read_options
from lsmlab.models.policies.decisions import Compaction, DoNothing, RunningJob
from lsmlab.models.policies.rocksdb.fifo import FifoPicker
from lsmlab.models.policies.rocksdb.places import is_cold, path_of_level, path_of_run, proximal_level
from lsmlab.models.policies.rocksdb.universal import SortedRun, UniversalPicker
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version
from lsmlab.reports.tables import devices as device_section
from lsmlab.sim.clients.op_costs import ReadCost, mean_cost
from lsmlab.sim.configuration.options_input import options_overrides
from lsmlab.sim.explain.summary_text import summary_text
from lsmlab.sim.machine.machine import Machine
from lsmlab.sim.phase import Phase
from lsmlab.sim.setting import Setting
from lsmlab.sim.simulation import simulate as simulate_setting
from lsmlab.sim.studies.baseline import changed
from lsmlab.sim.studies.intervals import knowledge_of
from lsmlab.sim.studies.whatif import changes_of
from running import SLOW_JOBS, SMALL, configuration, phase_of, simulate

MIB = 1 << 20
V = Version(8, 11)
DYNAMIC = "engine.options.level_compaction_dynamic_level_bytes=true"
COLD = ("cold_device=hdd", "engine.options.last_level_temperature=kCold", DYNAMIC)
PATHS = "engine.options.db_paths=[{path: fast, target_size: 10MiB}, {path: slow, target_size: 1TB}]"
STORE = (*SMALL, "workload=overwrite", "workload.duration=4s")


def options(version: Version = V, sizes: tuple[int, ...] = (), **values: Any) -> Any:
    """Return options with paths of these sizes in MiB."""
    paths = [{"path": str(i), "target_size": size * MIB} for i, size in enumerate(sizes)]
    return resolve_options(version, "library", {"db_paths": paths, **values}).options


def level_paths(version: Version, first: int, **values: Any) -> list[int]:
    """Return the paths of L0 to L5 if the first path has room for `first` MiB, with levels of 4, 40 and 400 MiB."""
    common = {"max_bytes_for_level_base": 4 * MIB, "level_compaction_dynamic_level_bytes": False}
    made = options(version, (first, 10**6), **common, **values)
    return [path_of_level(made, version, level) for level in range(6)]


@pytest.mark.parametrize(
    ("version", "first", "values", "expected"),
    [
        (V, 3, {}, [1, 1, 1, 1, 1, 1]), (V, 4, {}, [0, 1, 1, 1, 1, 1]), (V, 8, {}, [0, 0, 1, 1, 1, 1]),
        (V, 48, {}, [0, 0, 0, 1, 1, 1]), (V, 47, {}, [0, 0, 1, 1, 1, 1]), (V, 448, {}, [0, 0, 0, 0, 1, 1]),
        (Version(5, 8), 8, {}, [0, 1, 1, 1, 1, 1]), (Version(5, 8), 44, {}, [0, 0, 1, 1, 1, 1]),
        (V, 48, {"max_bytes_for_level_multiplier_additional": [1, 2, 1]}, [0, 0, 1, 1, 1, 1]),
        (V, 88, {"max_bytes_for_level_multiplier_additional": [1, 2, 1]}, [0, 0, 0, 1, 1, 1]),
    ],
    ids=str,
)  # fmt: skip
def test_levels_fill_the_paths(version: Version, first: int, values: dict[str, Any], expected: list[int]) -> None:
    """Levels go to the first path until their targets no longer fit; one path has them all."""
    assert level_paths(version, first, **values) == expected
    assert path_of_level(options(version), version, 5) == 0


def test_runs_of_universal_compaction_fill_the_paths() -> None:
    """A run fits if the rest of its path, with those before, exceeds what will be written until its next compaction."""
    made = options(sizes=(100, 1000), compaction_style="universal")
    found = {size: path_of_run(made, size * MIB) for size in (1, 49, 50, 51, 99, 100, 5000)}
    assert found == {1: 0, 49: 0, 50: 0, 51: 1, 99: 1, 100: 1, 5000: 1}
    half = options(sizes=(100, 1000), compaction_style="universal", **{"compaction_options_universal.size_ratio": 50})
    assert [path_of_run(half, size * MIB) for size in (66, 67)] == [0, 1]


@pytest.mark.parametrize(
    ("version", "level", "bottommost", "cold"),
    [
        ("7.5", 3, True, True), ("7.5", 3, False, False), ("7.5", 6, True, True), ("7.5", 0, True, False),
        ("7.6", 3, True, False), ("7.6", 6, True, True), ("7.6", 5, True, False), ("11.8", 6, False, True),
    ],
)  # fmt: skip
def test_the_last_level_has_a_temperature(version: str, level: int, bottommost: bool, cold: bool) -> None:
    """Before 7.6 that of outputs without deeper files, later that of the last level."""
    made = options(Version.parse(version), last_level_temperature="kWarm")
    assert is_cold(made, Version.parse(version), level, bottommost=bottommost, run_bytes=0) is cold
    hot = options(Version.parse(version), last_level_temperature="kHot")
    assert not is_cold(hot, Version.parse(version), level, bottommost=bottommost, run_bytes=0)


def ran(*overrides: str) -> Phase:
    """Return a phase after its run and all compactions."""
    phase = phase_of(*overrides)
    phase.preload()
    phase.run()
    phase.run_until_idle()
    return phase


def cold_and_other_bytes(phase: Phase) -> tuple[int, int]:
    """Return the bytes of the files of a store on `cold_device`, and of all others, blob files included."""
    files = [file for family in phase.families for file in family.files()]
    blobs = sum(family.tree.blobs.size_bytes for family in phase.families)
    cold = sum(f.size_bytes for f in files if f.cold)
    return cold, sum(f.size_bytes for f in files) - cold + blobs


@pytest.mark.parametrize(
    "overrides",
    [
        COLD, (*COLD, "engine.options.max_subcompactions=3"), (*COLD, "device.write_cap=40MiB/s", "cold_device.iops_cap=500"),
        (*COLD, "device.page_cache=64MiB", "engine.options.bytes_per_sync=1MiB"), (*COLD, "device.page_cache=64MiB"),
        (*COLD, "engine.options.rate_limiter_bytes_per_sec=40000000"),
        (*COLD, "conditions.compaction_errors=[{at: 1s, count: 30, done: 0.5}]", *SLOW_JOBS),
        (*COLD, "engine.options.enable_blob_files=true", "engine.options.min_blob_size=64",
         "engine.options.enable_blob_garbage_collection=true"),
        (*COLD, "engine.version=7.0", "engine.options.level_compaction_dynamic_level_bytes=false"),
        (*COLD, "engine=universal"), ("cold_device=hdd", "engine=universal", PATHS), ("cold_device=hdd", PATHS),
        ("cold_device=sata", "engine=vlsm", "engine.version=7.0", "engine.options.last_level_temperature=kCold"),
        (*COLD, "engine=silk"), (*COLD, "wal_device=optane_pmm", "engine.options.sync=true"),
        (*COLD, "workload.shards=2"),
    ],
    ids=str,
)  # fmt: skip
def test_each_device_holds_its_files(overrides: tuple[str, ...]) -> None:
    """Files and counted bytes of each device agree at the end, and some of the files are on the second one."""
    phase = ran(*STORE, *overrides)
    cold, other = cold_and_other_bytes(phase)
    machine = phase.machine
    assert cold > 0
    assert machine.cold.space.used_bytes == pytest.approx(cold)
    wals = sum(database.wals.closed_bytes for database in phase.databases)
    used = machine.main.space.used_bytes + (machine.wal.space.used_bytes if machine.wal is not machine.main else 0.0)
    assert used == pytest.approx(other + wals)


def test_bytes_of_each_device_are_those_of_its_jobs() -> None:
    """Writes to the last level are the second device's, all other writes the first one's; sums are those of the run."""
    result = simulate(*STORE, *COLD, "engine.options.disable_wal=true")
    jobs, found = result.jobs, result.summary["devices"]
    last = np.asarray(jobs["output_level"]) == 6
    written = np.asarray(jobs["write_bytes"], dtype=np.float64)
    largest = float(written.max())  # of the job that was still running
    assert found["cold_device"]["bytes_written"] == pytest.approx(written[last].sum(), abs=largest)
    assert found["device"]["bytes_written"] == pytest.approx(written[~last].sum(), abs=largest)
    read_there = float(np.asarray(jobs["read_bytes_output_level"], dtype=np.float64)[last].sum())
    assert found["cold_device"]["bytes_read"] == pytest.approx(read_there, abs=largest)
    for total, part in (("device_bytes_written", "bytes_written"), ("device_bytes_read", "bytes_read")):
        assert result.summary[total] == sum(one[part] for one in found.values())
    series = sum(float(values.sum()) for name, values in result.series.items() if name.startswith("write_bytes_"))
    assert series == pytest.approx(result.summary["device_bytes_written"], abs=2 * largest)


def test_an_equal_second_device_takes_no_time() -> None:
    """With two equal devices, the store does the same work, and is not slower: some transfers have the second to themselves."""
    plain = simulate(*STORE, DYNAMIC)
    both = simulate(*STORE, DYNAMIC, "cold_device=samsung_970_pro", "engine.options.last_level_temperature=kCold")
    assert both.summary["ops_per_s"] >= 0.99 * plain.summary["ops_per_s"]
    assert both.summary["write_amplification"] == pytest.approx(plain.summary["write_amplification"], rel=0.05)


def test_an_unused_second_device_changes_nothing() -> None:
    """A store whose first path has room for all its files runs as with one path, and says that the second device is empty."""
    roomy = "engine.options.db_paths=[{path: fast, target_size: 1PB}, {path: slow, target_size: 1TB}]"
    one, two = simulate(*STORE, roomy), simulate(*STORE, roomy, "cold_device=hdd")
    for key in ("ops_per_s", "write_amplification", "stall_seconds", "device_bytes_written", "write_latency_s", "levels"):
        assert one.summary[key] == two.summary[key]
    assert any("no file is there at the end" in note for note in two.summary["notes"])


def test_files_stay_in_the_path_of_their_level() -> None:
    """With two paths, every level is on one device: no file moves from one path to the other."""
    phase = ran(*STORE, "cold_device=hdd", PATHS, "workload=fillseq")
    engine = phase.setup.engine
    tree = phase.families[0].tree
    levels = {level for level in range(tree.num_levels) for f in tree.files_of(level) if f.cold}
    assert levels
    for level in range(tree.num_levels):
        cold = path_of_level(engine.options, engine.version, level) > 0
        assert all(f.cold == cold for f in tree.files_of(level)), level


def test_moved_files_keep_their_temperature() -> None:
    """Files of a load in key order move down unread, so the last level has files on the first device."""
    phase = ran(*STORE, *COLD, "workload=fillseq")
    assert phase.families[0].tree.file_count(6) > 0
    assert cold_and_other_bytes(phase)[0] == 0


PRECLUDE = "engine.options.preclude_last_level_data_seconds=5"


@pytest.mark.parametrize(
    ("version", "style", "start", "empty", "expected"),
    [
        ("7.5", "level", 5, False, 5), ("7.5", "level", 6, True, -1), ("11.8", "level", 6, True, -1),
        ("7.5", "universal", 0, False, 5), ("7.7", "universal", 6, True, -1), ("7.8", "universal", 6, True, 5),
        ("7.8", "universal", 6, False, -1),
    ],
)  # fmt: skip
def test_young_data_have_a_level_of_their_own(version: str, style: str, start: int, empty: bool, expected: int) -> None:
    """The level above the last one, unless the job has no input above the last level; universal jobs may move data up."""
    release = Version.parse(version)
    made = options(release, compaction_style=style, preclude_last_level_data_seconds=60)
    assert proximal_level(made, release, start, 6, empty=empty) == expected
    assert proximal_level(made, release, 0, 5, empty=empty) == -1
    assert proximal_level(options(release, compaction_style=style), release, start, 6, empty=empty) == -1


def test_universal_compaction_leaves_the_last_level_out() -> None:
    """With young data apart, the second-to-last run is the one with which size amplification compares the newer ones."""
    for version, apart, oldest in (("7.5", True, 3), ("7.6", True, 2), ("7.6", False, 3)):
        values = {"preclude_last_level_data_seconds": 60 * apart, "compaction_style": "universal"}
        picker = UniversalPicker(options(Version.parse(version), **values), Version.parse(version))
        runs = [SortedRun(level, (), 1, 1, busy=False) for level in (0, 0, 5, 6)]
        assert picker._oldest_run(runs) == oldest


@pytest.mark.parametrize(
    "overrides",
    [
        (DYNAMIC,), ("engine=universal",), ("engine=universal", "engine.options.max_subcompactions=3"),
        (DYNAMIC, "engine.version=7.8"), ("engine=universal", "engine.version=7.5"),
        (DYNAMIC, "engine.compaction_filter_ttl=20s"),
    ],
    ids=str,
)  # fmt: skip
def test_young_data_stay_above_the_last_level(overrides: tuple[str, ...]) -> None:
    """No file of the last level has had data younger than that when it was written; no entry is lost, and checks hold."""
    load = ("workload.benchmark_write_rate_limit=3MB/s", "workload.duration=20s")
    phase = phase_of(*STORE, *COLD[:2], *overrides, PRECLUDE, *load)
    phase.run()
    drain(phase)
    tree = phase.families[0].tree
    last = list(tree.files_of(6))
    assert [True, False] == [all(f.cold for f in last), any(f.cold for f in tree.files_of(5))]
    assert tree.file_count(5) > 0 < len(last)
    assert all(f.times is not None and f.times.max() <= f.created_s - 5.0 for f in last)


AGES = "file_temperature_age_thresholds"
FIFO = ("engine=fifo", "engine.version=9.9", "engine.options.num_levels=1", f"engine.options.compaction_options_fifo.{AGES}="
        "[{temperature: kCold, age: 5}]", "engine.options.compaction_options_fifo.max_table_files_size=1TB")  # fmt: skip


@pytest.mark.parametrize(
    ("version", "cold", "expected"),
    [
        ("8.3", (), [4, 3]), ("9.6", (), [4, 3]), ("9.7", (), [4]), ("9.8", (4,), [3]), ("9.9", (), [4]), ("9.9", (4, 3), [2]),
        ("9.8", (4, 3), []), ("8.3", (4,), [3]), ("9.9", (4, 3, 2), []),
    ],
)  # fmt: skip
def test_old_files_of_a_fifo_store_cool(version: str, cold: tuple[int, ...], expected: list[int]) -> None:
    """The oldest files that are not cold; their age is their own since 9.9, before that of the next newer file.

    Source: (behaviour/universal-and-fifo.md, FIFO temperatures).
    """
    made = options(Version.parse(version), compaction_style="fifo", num_levels=1, max_compaction_bytes=250,
                   **{f"compaction_options_fifo.{AGES}": [{"temperature": "kWarm", "age": 60}]})  # fmt: skip
    picker = FifoPicker(made, Version.parse(version))
    times = (90.0, 60.0, 40.0, 20.0, 10.0)  # newest first; file 4 is the oldest one
    tree = Tree(num_levels=1, l0=[SortedFile(i, 0, 9, 100, created_s=at_s, cold=i in cold) for i, at_s in enumerate(times)])
    pick = picker.pick(tree, (), 100.0)
    assert picker.needs_compaction(tree, 100.0) is bool(expected)
    assert (sorted((f.number for f in pick.inputs[0][1]), reverse=True) if isinstance(pick, Compaction) else []) == expected
    assert isinstance(picker.pick(tree, (RunningJob(0, 0, 0, 9),), 100.0), DoNothing)


def test_a_fifo_store_moves_old_files_to_the_second_device() -> None:
    """Files of that age are rewritten there, one by one; each file stays in its place, and every read byte is written again."""
    load = ("workload.duration=15s", "workload.benchmark_write_rate_limit=2MB/s", "workload.num=1M")
    phase = phase_of(*SMALL, *FIFO, "cold_device=hdd", *load)
    phase.run()
    files = phase.families[0].tree.l0
    first = next(i for i, f in enumerate(files) if f.cold)
    assert 0 < first < len(files) - 5
    assert all(f.cold for f in files[first:])
    cold = sum(f.size_bytes for f in files if f.cold)
    assert phase.machine.cold.space.used_bytes == pytest.approx(cold, abs=2.0 * files[-1].size_bytes)


def test_ages_of_an_options_file() -> None:
    """The thresholds are read as RocksDB writes them."""
    text = f'[CFOptions "default"]\ncompaction_options_fifo={{{AGES}={{{{temperature=kCold;age=12345;}};}};ttl=0;}}\n'
    read = read_options(text).overrides
    assert [(one.temperature.value, one.age) for one in read[f"compaction_options_fifo.{AGES}"]] == [("kCold", 12345)]
    empty = read_options(f'[CFOptions "default"]\ncompaction_options_fifo={{{AGES}={{}};}}\n').overrides
    assert empty[f"compaction_options_fifo.{AGES}"] == ()


def test_the_wal_has_a_device_of_its_own() -> None:
    """All bytes of a synced WAL are on its device, and writes wait for its fsyncs, not for those of the slow drive."""
    slow = (*SMALL, "workload.num=2000", "device=hdd", "engine.options.sync=true", "workload.duration=4s", "workload.threads=1")
    alone, apart = simulate(*slow), simulate(*slow, "wal_device=samsung_970_pro")
    logged = apart.summary["devices"]["wal_device"]["bytes_written"]
    assert logged >= apart.summary["user_bytes_written"]
    jobs = np.asarray(apart.jobs["write_bytes"], dtype=np.float64)
    assert apart.summary["devices"]["device"]["bytes_written"] == pytest.approx(jobs.sum(), abs=float(jobs.max(initial=0.0)))
    assert apart.summary["ops_per_s"] > 3.0 * alone.summary["ops_per_s"]
    assert "WAL device" in summary_text(apart.summary)


READS = (
    *SMALL, "workload=readrandom", "workload.num=300000", "workload.duration=4s",
    "workload.threads=16", "engine.options.cache_size=0", "engine.options.bloom_bits=10",
)  # fmt: skip


def test_reads_of_cold_blocks_have_the_latency_of_their_device() -> None:
    """Most keys are in the last level, on the hard disk; the others are read in the time of the fast drive."""
    plain, tiered = simulate(*READS, DYNAMIC), simulate(*READS, *COLD)
    assert tiered.summary["read_latency_s"]["p50"] > 5e-3 > 10.0 * plain.summary["read_latency_s"]["p99"]
    fast = float(tiered.latency["count"][tiered.latency["upper_s"] < 1e-3].sum())
    assert 0.02 < fast / float(tiered.latency["count"].sum()) < 0.3
    found = tiered.summary["devices"]
    assert found["cold_device"]["utilisation"] > 0.9 > found["device"]["utilisation"]
    assert found["cold_device"]["bytes_read"] > 5.0 * found["device"]["bytes_read"] > 0.0
    assert "hdd was busy" in tiered.summary["bottleneck"]["text"]


def test_costs_of_reads_by_device_have_the_mean_of_all_reads() -> None:
    """The classes of reads with and without requests to the second device have the sums of the reads that they divide."""
    cost = ReadCost(10e-6, 4e-6, 1.5, 6000.0, 0.2, 3.0, 0.6, 2400.0)
    classes = cost.by_device(0.5)
    mean = mean_cost(classes)
    assert [share for share, _ in classes] == [0.5, 0.5]
    for name in ("cpu_s", "request_cpu_s", "device_reads", "device_bytes", "memory_share", "cold_reads", "cold_bytes", "blocks"):
        assert getattr(mean, name) == pytest.approx(getattr(cost, name)), name
    assert classes[0][1].cold_reads == 0.0 == classes[1][1].memory_share
    assert cost.by_device(1.0) == [(1.0, cost)]


def test_results_name_each_device() -> None:
    """Terminal and page have a line per device, and the bottleneck names the one that holds up the store."""
    slow = ("cold_device=hdd", "cold_device.write_cap=2MiB/s", *COLD[1:], "workload.duration=20s")
    result = simulate(*STORE, *slow)
    text = summary_text(result.summary)
    assert "\ndevice          Samsung 970 PRO 1TB" in text or "\ndevice          samsung_970_pro" in text
    assert "\ncold device     hdd, " in text
    assert "cold device" in result.summary["bottleneck"]["text"]
    (section,) = device_section(SimpleNamespace(summary=result.summary))  # type: ignore[arg-type]
    assert [row[0] for row in section.content[0].rows] == ["device", "cold device"]  # type: ignore[attr-defined]
    plain = simulate(*STORE, DYNAMIC)
    assert "devices" not in plain.summary
    assert device_section(SimpleNamespace(summary=plain.summary)) == []  # type: ignore[arg-type]


def test_a_prefill_leaves_its_files_where_they_are() -> None:
    """The run begins with the files of the prefill on both devices."""
    result = simulate(
        *SMALL, *COLD, "prefill=fillrandom", "prefill.num=150000", "workload=overwrite", "workload.num=150000",
        "workload.duration=1s", "workload.benchmark_write_rate_limit=1MB/s",
    )  # fmt: skip
    assert result.summary["devices"]["cold_device"]["table_bytes"] > 5e6


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("cold_device=hdd",), "cold_device: no file goes there"),
        ((*COLD, "cold_device.page_cache=1GiB"), r"cold_device\.page_cache: all devices share"),
        ((*COLD, "engine=ldc"), "compacts slices of files one by one"),
        ((*COLD, "engine=fifo"), "last_level_temperature: not modelled with FIFO"),
        (("engine=fifo", PATHS), "db_paths: RocksDB refuses several paths with FIFO"),
        ((*COLD, PATHS), "last_level_temperature: db_paths places files, too"),
        (("engine.options.db_paths=[{path: a}, {path: b}, {path: c}]",), "db_paths: 3 paths"),
        (("engine.options.db_paths=[{pfad: a}]",), r"db_paths\.pfad: no such key"),
        (("engine.options.db_paths=[3]",), "db_paths: .*must be a mapping"),
        (("engine.options.last_level_temperature=tepid",), "last_level_temperature: 'tepid' is not one of kUnknown"),
        ((*FIFO[:3], f"engine.options.compaction_options_fifo.{AGES}=[{{age: 1}}, {{age: 2}}]"), "two devices: give one age"),
        ((PRECLUDE, "engine=vlsm"), "preclude_last_level_data_seconds: modelled for RocksDB's"),
        (("engine.version=7.4", PRECLUDE), "7.5 and later have it"),
        (("engine.version=6.20", "engine.options.last_level_temperature=kCold"), "6.21 and later have it"),
        (("wal_device=nvme", "engine.options.disable_wal=true"), "wal_device: this store has no WAL"),
        (("wal_device=nvme", "databases={a: {count: 2}}"), "with several databases"),
        (("cold_device.write_cap=3",), "cold_device"),
        (("wal_device=no_such_drive",), "no_such_drive"),
    ],
)  # fmt: skip
def test_what_is_not_modelled_is_refused(overrides: tuple[str, ...], message: str) -> None:
    """One error names the key and the remedy."""
    with pytest.raises(Exception, match=message) as caught:
        Setting.of(configuration(*SMALL, *overrides))
    assert isinstance(caught.value, InputError) or "no_such_drive" in message


def test_several_paths_switch_dynamic_levels_off() -> None:
    """A note says so."""
    resolved = resolve_options(V, "library", {"cf_paths": [{"path": "a", "target_size": 1}, {"path": "b"}]})
    assert not resolved.options.level_compaction_dynamic_level_bytes
    assert any("several paths" in note for note in resolved.notes)


def test_temperatures_of_an_options_file(tmp_path: Path) -> None:
    """The temperature is taken, and named as not simulated while no device is named; so is the older name in its releases."""
    path = tmp_path / "OPTIONS"
    path.write_text('[Version]\nrocksdb_version=8.11.0\n[CFOptions "default"]\nlast_level_temperature=kCold\n')
    overrides, _ = options_overrides(path, [])
    taken = "engine.options.last_level_temperature='kCold'"
    assert taken in overrides
    plain = simulate_setting(Setting.of(configuration(*STORE, "workload.duration=1s", taken)))
    assert [one["name"] for one in plain.summary["not_simulated"]] == ["last_level_temperature"]
    tiered = simulate_setting(Setting.of(configuration(*STORE, "workload.duration=1s", taken, "cold_device=hdd")))
    assert tiered.summary["not_simulated"] == []
    for release, found in (("7.5.0", {"last_level_temperature"}), ("7.8.0", set())):
        text = f'[Version]\nrocksdb_version={release}\n[CFOptions "default"]\nbottommost_temperature=kWarm\nttl=3\n'
        assert set(read_options(text).overrides) == {"ttl", *found}


def test_a_finished_run_takes_a_second_device() -> None:
    """A what-if may add one to the configuration of a run, and take it away."""
    before = configuration(*STORE)
    after = changed(before, ["cold_device=hdd", "engine.options.last_level_temperature=kCold", "wal_device=nvme"])
    assert (after["cold_device"]["name"], after["wal_device"]["name"], after["device"]) == ("hdd", "nvme", before["device"])
    assert Setting.of(after).cold_device is not None
    assert changes_of(["cold_device=hdd", "wal_device=nvme"], before, after)[0] == "cold_device: none -> hdd"
    without = changed(after, ["cold_device=null", "wal_device=null"])
    assert {without[key] for key in ("cold_device", "wal_device")} == {None}
    assert changes_of(["cold_device=null"], after, without) == ["cold_device: hdd -> null"]


def test_a_measured_machine_has_the_constants_of_all_its_drives() -> None:
    """A parameter set gives each device the constants of its entry; a value of the command line stays."""
    chosen = ("device=nvme", "cold_device=hdd", "wal_device=nvme", "host.parameters=i7_8700k", "wal_device.fsync_latency=1ms")
    config = configuration(*chosen)
    assert (config["cold_device"]["fsync_latency"], config["cold_device"]["write_bandwidth"]) == ("25ms", "156.5MB/s")
    assert config["wal_device"]["write_bandwidth"] == config["device"]["write_bandwidth"] == "880MB/s"
    assert [config[key]["fsync_latency"] for key in ("device", "wal_device")] == ["2.989ms", "1ms"]


def test_the_error_on_several_devices_is_not_known() -> None:
    """No such store was recorded, so no number of it has an interval, and the notes say so."""
    config = configuration(*STORE, *COLD)
    assert knowledge_of(configuration(*STORE)) is not None
    assert knowledge_of(config) is None is knowledge_of(configuration(*STORE, "wal_device=nvme"))
    result = simulate(*STORE, *COLD)
    assert any("no recorded store on several devices" in note for note in result.summary["notes"])
    for overrides in ((PRECLUDE,), FIFO, (PATHS,)):
        assert PLACES_NOTE in phase_of(*STORE, *overrides).setup.engine.notes
    assert PLACES_NOTE not in phase_of(*STORE).setup.engine.notes


def test_clients_feel_the_device_of_their_wal_alone() -> None:
    """Without other volumes, the machine grants what its one device grants."""
    machine: Machine = phase_of(*STORE).machine
    assert machine.volumes == [machine.main]
    tiered: Machine = phase_of(*STORE, *COLD, "wal_device=nvme").machine
    assert tiered.volumes == [tiered.main, tiered.cold, tiered.wal]
