"""Runs of stores with blob files: accounts, costs, and all kinds of stores (behaviour/blob-files.md, Blob files)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lsmlab
import numpy as np
import pytest
from draining import check_entries, contradictions, drain
from lsmlab.models.errors import InputError
from lsmlab.models.options.options_file import read_options
from lsmlab.models.tree.blobs import BlobEdit, BlobFile, BlobFiles, BlobSums
from lsmlab.reports.figures.amplification import written_per_user_byte
from lsmlab.reports.figures.levels import level_sizes
from lsmlab.reports.run_data import load_run
from lsmlab.reports.timeline import Timeline
from lsmlab.sim.configuration.options_input import options_overrides
from lsmlab.sim.explain.summary_text import summary_text
from lsmlab.sim.results.results import Result
from lsmlab.sim.results.tree_replay import tree_at
from running import SLOW_JOBS, SMALL, configuration, phase_of, run, set_up, simulate

BLOBS = "engine.options.enable_blob_files=true"
GC = "engine.options.enable_blob_garbage_collection=true"
STORE = (
    *SMALL, "workload=overwrite", "workload.value_size=1000", "workload.num=30000", "workload.duration=3s",
    "engine.options.blob_file_size=1MiB", *SLOW_JOBS,
)  # fmt: skip
EXACT = "keys.mode=exact"
PACED = "workload.benchmark_write_rate_limit=50MB/s"
"""Leaves compactions time: with writers at full speed they never catch up."""
RECORD = 32 + 16 + 1000


def store(*overrides: str) -> Result:
    """Return a short run of overwrites of 1,000 bytes, with blob files."""
    return simulate(*STORE, BLOBS, *overrides)


def blobs_of(result: Result) -> dict[str, Any]:
    """Return the key `blobs` of a summary."""
    found: dict[str, Any] = result.summary["blobs"]
    return found


@pytest.mark.parametrize(
    "overrides",
    [
        (), (GC,), (GC, EXACT), (GC, "engine.options.max_subcompactions=3"), (GC, "engine.version=6.22"),
        (GC, "engine.options.blob_garbage_collection_force_threshold=0.2", "engine.version=9.8"),
        ("engine.options.blob_file_starting_level=1", GC), ("engine.options.compaction_style=universal", GC),
        ("engine=vlsm", GC), ("workload=deleterandom", "workload.value_size=1000", "prefill=fillrandom", "prefill.num=30000",
                              "workload.num=30000", "prefill.value_size=1000", GC),
        ("engine.options.compression=lz4", "engine.options.blob_compression_type=lz4", GC),
        ("engine=lazy_leveling", GC), ("engine=silk", GC), ("engine=adoc", GC), ("engine=pebblesdb", "engine.version=9.8"),
        ("engine=universal", "engine.options.num_levels=1", GC),
        ("engine=vlsm", GC, "workload.value_size_distribution_type=uniform", "workload.value_size_min=100",
         "workload.value_size_max=2000", "engine.options.min_blob_size=1000"),
    ],
    ids=str,
)  # fmt: skip
def test_accounts_of_runs_agree(overrides: tuple[str, ...]) -> None:
    """Links and garbage follow from the SST files after every edit (checks=true), and bytes of jobs, files and device agree."""
    result = store(*overrides)
    found, jobs = blobs_of(result), result.jobs
    written = found["flush_write_bytes"] + found["compaction_write_bytes"]

    check_entries(result)
    assert [] == contradictions(result.summary)
    assert found["bytes"] >= found["garbage_bytes"] >= 0.0
    assert found["bytes"] - 62 * found["files"] <= written + RECORD * result.summary["preloaded_entries"] + 1
    assert int(jobs["blob_write_bytes"][~jobs["unfinished"]].sum()) == written
    assert result.summary["device_bytes_written"] >= result.summary["flush_bytes"] + result.summary["compaction_write_bytes"]
    table = result.summary["compaction_stats"][-1]
    assert pytest.approx(result.summary["write_amplification"]) == table["W-Amp"]
    assert pytest.approx(written / 2**30) == table["Wblob(GB)"]
    assert pytest.approx(found["compaction_read_bytes"] / 2**30) == table["Rblob(GB)"]


def test_a_value_is_written_once_without_collection() -> None:
    """W-Amp is 1 for the blobs and a few percent for the small SST files; each flushed value is one record."""
    result, plain = store(), simulate(*STORE)
    flushes = result.jobs["kind"] == "flush"

    assert 0 == blobs_of(result)["compaction_write_bytes"]
    assert pytest.approx(RECORD * result.jobs["entries_out"][flushes].sum(), rel=1e-6) == (
        result.jobs["blob_write_bytes"][flushes].sum()
    )
    assert 1.0 < result.summary["write_amplification"] < 1.5 < plain.summary["write_amplification"]
    assert result.summary["space_amplification"] > 2.0 > plain.summary["space_amplification"] * 0.8


def test_sst_files_hold_references() -> None:
    """An entry takes a key with its sequence number, a reference of 9 or 10 bytes and the overhead of a block."""
    result = store(EXACT)
    flushes = result.jobs["kind"] == "flush"
    entry_bytes = result.jobs["write_bytes"][flushes].sum() / result.jobs["entries_out"][flushes].sum()

    assert 24 + 10 - 6 < entry_bytes < 24 + 10 + 3  # neighbours share bytes of their keys


def test_collection_trades_writes_for_space() -> None:
    """A larger share of old files gives more Wblob and less garbage; with all files no counted garbage stays."""
    cutoff = "engine.options.blob_garbage_collection_age_cutoff"
    paced = (GC, "engine.options.blob_compaction_readahead_size=2MiB", PACED)
    runs = [store(*paced, f"{cutoff}={share}") for share in (0.0, 0.25, 0.5, 1.0)]
    written = [blobs_of(r)["compaction_write_bytes"] / blobs_of(r)["flush_write_bytes"] for r in runs]
    garbage = [blobs_of(r)["garbage_bytes"] for r in runs]

    assert written == sorted(written)
    assert garbage == sorted(garbage, reverse=True)
    assert pytest.approx(0.0, abs=1.0) == garbage[-1]
    assert all(blobs_of(r)["compaction_read_bytes"] == blobs_of(r)["compaction_write_bytes"] for r in runs)


@pytest.mark.parametrize("overrides", [(), (GC,)], ids=str)
def test_a_sample_has_the_blob_files_of_all_keys(overrides: tuple[str, ...]) -> None:
    """Sampled and exact keys give the same W-Amp, number of blob files and garbage."""
    exact, sampled = store(PACED, EXACT, *overrides), store(PACED, "keys.samples_per_file=100", *overrides)

    assert sampled.summary["keys"]["weight"] > 4.0
    assert pytest.approx(exact.summary["write_amplification"], rel=0.02) == sampled.summary["write_amplification"]
    assert pytest.approx(blobs_of(exact)["files"], rel=0.15) == blobs_of(sampled)["files"]
    assert pytest.approx(blobs_of(exact)["garbage_bytes"], rel=0.2) == blobs_of(sampled)["garbage_bytes"]


def test_a_file_of_references_has_as_many_samples_as_another() -> None:
    """A small SST file of references holds many entries; the sample is not chosen as if they were values."""
    large = ("workload.value_size=16000", "workload.num=100000", "engine.options.target_file_size_base=64KiB",
             "engine.options.write_buffer_size=64MiB", "keys.samples_per_file=100")  # fmt: skip
    plain, apart = (set_up(*STORE, *large, *options).families[0].sample.rate for options in ((), (BLOBS,)))

    assert apart < plain


def test_the_lifetime_of_all_keys_follows_from_a_sample() -> None:
    """A file of 10,000 blobs with 100 carried keys lives twice as long as the last of these; with all keys it goes at once."""
    for blobs, until_s in ((10_000.0, 50.0), (100.0, 30.0)):
        total = BlobSums(100, blobs, blobs * 100)
        files = BlobFiles(files=[BlobFile(1, total, created_s=10.0)], size_bytes=round(total.record_bytes) + 62)
        gone = files.apply(BlobEdit(garbage={1: total}), [], [], 30.0)
        if blobs > 100:
            assert [[], []] == [gone, files.apply(BlobEdit(), [], [], until_s - 0.1)]
            gone = files.apply(BlobEdit(), [], [], until_s)
        assert [1] == [file.number for file in gone]


def test_forced_collection_compacts_files_with_old_blobs() -> None:
    """With a low threshold there are ForcedBlobGC jobs within a level; before 9.7 the oldest batch is seldom eligible."""
    common = (GC, "engine.options.blob_garbage_collection_age_cutoff=0.25")
    threshold = "engine.options.blob_garbage_collection_force_threshold=0.05"
    options = (("engine.version=9.6", threshold), ("engine.version=9.7", threshold), ("engine.version=9.7",))
    before, forced, usual = (store(*common, *one) for one in options)
    forced_jobs = [r.summary["job_reasons"].get("ForcedBlobGC", 0) for r in (before, forced, usual)]

    assert forced_jobs[1] > forced_jobs[0]
    assert 0 == forced_jobs[2]
    same = forced.jobs["reason"] == "ForcedBlobGC"
    assert (forced.jobs["start_level"][same] == forced.jobs["output_level"][same]).all()


def test_values_leave_at_the_starting_level() -> None:
    """L0 has all values; a compaction to L1 moves those of its inputs, each once."""
    result = store("engine.options.blob_file_starting_level=1")
    flushes = result.jobs["kind"] == "flush"

    assert 0 == blobs_of(result)["flush_write_bytes"] == result.jobs["blob_write_bytes"][flushes].sum()
    assert result.jobs["write_bytes"][flushes].sum() > 1000 * result.jobs["entries_out"][flushes].sum()
    assert 0 < blobs_of(result)["compaction_write_bytes"]
    assert result.summary["levels"][1]["bytes"] < 0.1 * blobs_of(result)["bytes"]


@pytest.mark.parametrize("keys", [EXACT, "keys.samples_per_file=100"])
@pytest.mark.parametrize(("least", "share", "large"), [(500, 0.75, 1250.0), (1500, 0.25, 1750.0), (2001, 0.0, 0.0)])
def test_the_distribution_decides_which_values_leave(keys: str, least: int, share: float, large: float) -> None:
    """Of sizes between 0 and 2,000 bytes, those of min_blob_size and more are in blob files."""
    sizes = ("workload.value_size_distribution_type=uniform", "workload.value_size_min=0", "workload.value_size_max=2000")
    result = store(*sizes, keys, f"engine.options.min_blob_size={least}")
    flushes = result.jobs["kind"] == "flush"
    entries = result.jobs["entries_out"][flushes].sum()
    written = result.jobs.get("blob_write_bytes", np.zeros(len(flushes)))[flushes].sum()

    assert pytest.approx(share * (48.0 + large), rel=0.03, abs=1e-9) == written / entries


def test_mixgraph_keeps_small_values() -> None:
    """Of mixgraph's Pareto sizes, with a mean of 37 bytes, few reach 256 bytes; these are the bytes that leave."""
    workload = ("workload=mixgraph", "workload.num=100000", "workload.mix_get_ratio=0", "workload.mix_put_ratio=1",
                "workload.mix_seek_ratio=0", "workload.sine_mix_rate=false", "workload.duration=2s")  # fmt: skip
    result = simulate(*SMALL, *workload, BLOBS, "engine.options.min_blob_size=256")
    flushes = result.jobs["kind"] == "flush"
    per_entry = result.jobs["blob_write_bytes"][flushes].sum() / result.jobs["entries_out"][flushes].sum()

    assert 0.0 < per_entry < 10.0


# --- kinds of stores ---------------------------------------------------------------------------------------------------------


def test_universal_compaction_relocates_and_does_not_force() -> None:
    """Relocation happens in its compactions; its picker has no forced collection."""
    universal = "engine.options.compaction_style=universal"
    threshold = "engine.options.blob_garbage_collection_force_threshold=0.01"
    result = store(universal, GC, "engine.options.blob_garbage_collection_age_cutoff=1.0", threshold)

    assert blobs_of(result)["compaction_write_bytes"] > 0
    assert not [reason for reason in result.summary["job_reasons"] if "Blob" in reason]


def test_vlsm_has_small_ssts_and_blob_files() -> None:
    """VLSM's chains move references; its W-Amp falls towards that of the blobs."""
    vlsm = ("engine=vlsm", "engine.options.write_buffer_size=1MiB", "engine.options.target_file_size_base=256KiB")
    apart, plain = store(*vlsm), simulate(*STORE, *vlsm)

    assert apart.summary["write_amplification"] < 0.6 * plain.summary["write_amplification"]
    assert blobs_of(apart)["compaction_write_bytes"] == 0


def test_column_families_choose_for_themselves() -> None:
    """One family with blob files beside one without; each has its own numbers."""
    apart_options = "{enable_blob_files:true,enable_blob_garbage_collection:true}"
    families = (f"+engine.families={{plain:{{}},apart:{{options:{apart_options}}}}}",
                "+workload.families={plain:{writes:1},apart:{writes:1}}")  # fmt: skip
    result = simulate(*STORE, *families)
    plain, apart = (result.summary["column_families"][name] for name in ("plain", "apart"))

    assert "blobs" not in plain
    assert apart["blobs"] == blobs_of(result)
    assert plain["write_amplification"] > apart["write_amplification"] > 1.0
    assert not result.jobs["blob_write_bytes"][result.jobs["column_family"] == "plain"].any()
    assert "Wblob(GB)" in apart["compaction_stats"][-1]
    assert "Wblob(GB)" not in plain["compaction_stats"][-1]


def test_families_with_and_without_blob_files_compact_in_their_own_styles() -> None:
    """Levelled with blob files and reads from a blob cache, universal with blob files, and universal without, side by side."""
    gc = "enable_blob_files:true,enable_blob_garbage_collection:true"
    universal = "compaction_style:universal"
    families = (
        f"+engine.families={{levels:{{options:{{{gc},use_blob_cache:true,blob_cache_size:1MiB}}}},"
        f"runs:{{options:{{{gc},{universal},blob_garbage_collection_age_cutoff:1.0}}}},plain:{{options:{{{universal}}}}}}}",
        "+workload.families={levels:{writes:1},runs:{writes:1},plain:{writes:1}}",
    )  # fmt: skip
    load = ("workload=readrandomwriterandom", "workload.value_size=1000", "workload.num=30000", "workload.readwritepercent=5")
    result = simulate(*STORE, *families, *load)
    found = result.summary["column_families"]

    check_entries(result)
    assert ["levels", "runs"] == [name for name in found if "blobs" in found[name]]
    assert blobs_of(result)["bytes"] == sum(found[name]["blobs"]["bytes"] for name in ("levels", "runs"))
    assert all(found[name]["blobs"]["compaction_read_bytes"] > 0 for name in ("levels", "runs"))
    assert 1 << 20 == result.summary["memory"]["blob_cache_bytes"]


def test_fifo_deletes_blob_files_with_their_sst_files() -> None:
    """A deletion counts no garbage, and blob files older than every link go."""
    fifo = ("engine.options.compaction_style=fifo", "engine.options.compaction_options_fifo.max_table_files_size=200KiB")
    result = store(*fifo)

    assert result.summary["drop_count"] > 10
    assert 0.0 == blobs_of(result)["garbage_bytes"]
    assert blobs_of(result)["files"] == sum(result.summary["files_per_level"])


@pytest.mark.parametrize(("filled", "measured"), [(True, True), (False, True), (True, False)])
def test_a_store_may_change_at_its_open(filled: bool, measured: bool) -> None:
    """Blob files of the prefill stay; without the option their blobs return to SST files as collection meets them."""
    prefill = ("prefill=fillrandom", "prefill.num=30000", "prefill.value_size=1000",
               f"prefill.options={{enable_blob_files:{filled}}}")  # fmt: skip
    cutoff = "engine.options.blob_garbage_collection_age_cutoff=1.0"
    result = simulate(*STORE, *prefill, f"engine.options.enable_blob_files={measured}", GC, cutoff)

    check_entries(result)
    assert (blobs_of(result)["compaction_read_bytes"] > 0) is (filled or measured)
    assert (blobs_of(result)["flush_write_bytes"] > 0) is measured
    if not measured:
        assert 0 == blobs_of(result)["files"]


def test_a_preloaded_tree_has_its_values_in_blob_files() -> None:
    """Reads of a store without writes: one reference and one blob for each key, without garbage."""
    workload = ("workload=readrandom", "workload.value_size=1000", "workload.num=30000", "workload.duration=1s")
    result = simulate(*SMALL, *workload, BLOBS)

    assert pytest.approx(30_000 * RECORD, rel=0.01) == blobs_of(result)["bytes"]
    assert 0.0 == blobs_of(result)["garbage_bytes"]
    assert pytest.approx(1.0, abs=0.01) == result.summary["space_amplification"]


def test_a_store_given_by_its_files_has_blobs_too() -> None:
    """initial_tree lists SST files; their entries have their values in blob files."""
    rows = "initial_tree=[{level: 1, size_bytes: 100KiB}, {level: 2, size_bytes: 400KiB}]"
    result = store(rows, "workload.duration=1s")

    assert result.summary["preloaded_entries"] > 10_000
    assert blobs_of(result)["bytes"] > 900 * result.summary["preloaded_entries"]


def test_a_store_with_blobs_becomes_idle() -> None:
    """All jobs end after the last write, forced ones too, and no file stays busy."""
    phase = phase_of(*STORE, BLOBS, GC, "engine.options.blob_garbage_collection_force_threshold=0.1", "workload.duration=2s")
    phase.run(None)
    drain(phase)


def test_a_full_device_counts_blob_files() -> None:
    """Space that blob files take can run out, and failed jobs leave no space behind."""
    full = run(configuration(*STORE, BLOBS, "conditions={changes: [{at: 1s, space: 60MiB}]}"))

    assert full.summary["stall_seconds"].get("background_error", 0.0) > 0.0 or full.summary["discarded_count"] > 0


# --- costs -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", ["readrandom", "seekrandom"])
def test_reads_pay_for_the_second_place(workload: str) -> None:
    """Each entry costs a further read of the device; the shared cache keeps some of them."""
    small = (*SMALL, f"workload={workload}", "workload.value_size=2000", "workload.num=30000", "workload.duration=1s",
             "engine.options.cache_size=20MiB")  # fmt: skip
    apart, cached, plain = (
        simulate(*small, *options) for options in ((BLOBS,), (BLOBS, "engine.options.use_blob_cache=true"), ())
    )
    reads = [r.summary["device_bytes_read"] / r.summary["operations"] for r in (apart, cached, plain)]

    assert 2000 < reads[0] < 2000 + 2 * 4096
    assert reads[1] < 0.9 * reads[0]
    assert cached.summary["block_cache"]["hit_rate"] < apart.summary["block_cache"]["hit_rate"]


@pytest.mark.parametrize("workload", ["readrandom", "seekrandom"])
def test_blobs_may_have_a_cache_of_their_own(workload: str) -> None:
    """It keeps as large a share of the blobs as it has room for, and blocks have the block cache for themselves."""
    small = (*SMALL, f"workload={workload}", "workload.value_size=2000", "workload.num=30000", "workload.duration=1s",
             "engine.options.cache_size=1MiB", "conditions.block_cache=warm", BLOBS)  # fmt: skip
    cache = ("engine.options.use_blob_cache=true",)
    apart, shared = simulate(*small), simulate(*small, *cache)
    half, whole = (simulate(*small, *cache, f"engine.options.blob_cache_size={size}").summary for size in ("30MiB", "80MiB"))
    blocks = apart.summary["block_cache"]["hit_rate"]

    assert "blob_hit_rate" not in apart.summary["block_cache"]
    assert shared.summary["block_cache"]["hit_rate"] < blocks
    assert pytest.approx(blocks, rel=0.01) == half["block_cache"]["hit_rate"]
    assert 0.4 < half["block_cache"]["blob_hit_rate"] < 0.6
    assert pytest.approx(1.0, abs=0.01) == whole["block_cache"]["blob_hit_rate"]
    assert 80 << 20 == whole["block_cache"]["blob_cache_bytes"] == whole["memory"]["blob_cache_bytes"]
    assert whole["device_bytes_read"] / whole["operations"] < half["device_bytes_read"] / half["operations"]


def test_relocation_without_readahead_takes_a_read_per_blob() -> None:
    """On a store with direct reads, portions of 2 MiB make compactions much faster than single reads."""
    direct = (GC, "engine.options.use_direct_reads=true", "engine.options.blob_garbage_collection_age_cutoff=0.5")
    single, ahead = store(*direct), store(*direct, "engine.options.blob_compaction_readahead_size=2MiB")

    def seconds(result: Result) -> float:
        merges = result.jobs["blob_read_bytes"] > 0
        blobs = result.jobs["blob_read_bytes"][merges].sum() / RECORD
        return float((result.jobs["merged_s"] - result.jobs["start_s"])[merges].sum() / blobs)

    assert seconds(single) > 3.0 * seconds(ahead)


# --- options and results -------------------------------------------------------------------------------------------------------


def test_a_store_without_blob_files_has_no_trace_of_them() -> None:
    """No key, column or line; the options alone change nothing without enable_blob_files."""
    plain, idle = simulate(*STORE), simulate(*STORE, GC, "engine.options.min_blob_size=100")

    assert "blobs" not in plain.summary
    assert not [name for table in (plain.jobs, plain.series) for name in table if "blob" in name]
    assert not [name for row in plain.summary["compaction_stats"] for name in row if "blob" in name]
    assert "blob" not in summary_text(plain.summary)
    for name in ("ops_per_s", "write_amplification", "flush_bytes", "compaction_count", "write_latency_s"):
        assert plain.summary[name] == idle.summary[name]


def test_the_terminal_has_rocksdbs_columns_and_line() -> None:
    """Rblob and Wblob are the last columns; blob files, garbage and space amp have a line."""
    text = summary_text(store(GC).summary)

    assert "KeyDrop Rblob(GB) Wblob(GB)\n" in text
    assert "\nblob files      " in text
    assert " of garbage, space amp as RocksDB prints it " in text


def test_the_series_follows_blob_files() -> None:
    """The last second has the files, bytes and garbage of the summary."""
    result = store(GC)
    last = {name: result.series[name][-1] for name in ("blob_files", "blob_bytes", "blob_garbage_bytes")}
    found = blobs_of(result)

    assert pytest.approx([found["files"], found["bytes"], found["garbage_bytes"]]) == list(last.values())


FILLED = ("prefill=fillrandom", "prefill.num=30000", "prefill.value_size=1000")


@pytest.mark.parametrize("before", [(), FILLED], ids=["empty", "filled"])
def test_the_events_give_the_blob_files_at_any_instant(before: tuple[str, ...]) -> None:
    """Files and bytes are those of the series, jobs wrote as many files as they tell, and garbage lacks a sixteenth at most."""
    result = store(GC, *before)
    events, jobs, series = result.events, result.jobs, result.series
    assert events is not None
    created = events["job"][events["kind"] == "blob_create"]
    for second, (time_s, files, size, garbage) in enumerate(
        zip(*(series[name] for name in ("t_s", "blob_files", "blob_bytes", "blob_garbage_bytes")), strict=True)
    ):
        found = tree_at(events, time_s).blob_files.values()
        counted = sum(file.garbage_bytes for file in found)

        assert (files, size) == (len(found), sum(file.size_bytes for file in found)), second
        assert garbage - size / 16 - 1.0 <= counted <= garbage + len(found)
    for job, count in zip(jobs["job"][~jobs["unfinished"]], jobs["blob_files"][~jobs["unfinished"]], strict=True):
        assert count == np.count_nonzero(created == job)


def test_options_files_and_strings_set_blob_options(tmp_path: Path) -> None:
    """All options of the column family are read, and none is listed as not simulated."""
    text = (
        "[Version]\nrocksdb_version=7.8.3\n[DBOptions]\n[CFOptions \"default\"]\nenable_blob_files=true\nmin_blob_size=1024\n"
        "blob_file_size=1048576\nblob_compression_type=kZSTD\nenable_blob_garbage_collection=true\nblob_file_starting_level=1\n"
        "blob_garbage_collection_age_cutoff=0.500000\nblob_garbage_collection_force_threshold=0.750000\n"
        "blob_compaction_readahead_size=2097152\nblob_cache=nullptr\nprepopulate_blob_cache=kDisable\n"
    )
    path = tmp_path / "OPTIONS"
    path.write_text(text)
    found = read_options(text)
    overrides, _ = options_overrides(path, [])

    assert not found.not_simulated
    assert "engine.options.blob_garbage_collection_force_threshold=0.75" in overrides
    assert lsmlab.configure([*overrides])["engine"]["options"]["min_blob_size"] == 1024


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("engine.version=6.17",), "enable_blob_files: RocksDB 6.17 does not have this option"),
        (("engine.version=7.3", "engine.options.blob_file_starting_level=1"), "blob_file_starting_level: RocksDB 7.3"),
        (("engine.version=6.25", "engine.options.blob_garbage_collection_force_threshold=0.5"), "6.26 and later have it"),
        (("engine.options.blob_garbage_collection_age_cutoff=1.5",), "blob_garbage_collection_age_cutoff"),
        (("engine=leveldb",), "enable_blob_files: .*keeps its values in another way"),
        (("engine=ldc",), "enable_blob_files: .*keeps its values in another way"),
        (("engine=triad",), "enable_blob_files: .*keeps its values in another way"),
        (("prefill=fillrandom", "prefill.num=30000", "prefill.options={min_blob_size: 50}"), "prefill.options.min_blob_size"),
    ],
)
def test_what_cannot_be_is_refused(overrides: tuple[str, ...], message: str) -> None:
    """Releases and engines without blob files, and values out of range, are errors that name the option."""
    with pytest.raises(InputError, match=message):
        store(*overrides)


def test_the_page_draws_blob_files(tmp_path: Path) -> None:
    """Lines of their bytes and garbage beside the levels, and their part of the bytes written per user byte."""
    store(GC).save(tmp_path)
    found = load_run(tmp_path)
    lines = [str(trace.get("name")) for trace in level_sizes(found, Timeline.of(found.times_s)).traces]
    parts = {name: value for name, value, _ in written_per_user_byte(found)}

    assert ["blob files", "garbage in blob files"] == [name for name in lines if "blob" in name]
    assert pytest.approx(1.0, rel=0.3) == parts["blob files"]
