"""A prefill with options of its own: files keep the table format with which they were written."""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.level import Level
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.sim.clients.lookups import by_format
from lsmlab.sim.runs.estimate import estimate
from lsmlab.sim.runs.key import run_key
from running import SLOW_JOBS, SMALL, configuration, run, set_up, simulate

FILLED = (*SMALL, "prefill=fillrandom", "prefill.value_size=100", "prefill.num=200000")
READS = (
    *FILLED, "workload=readrandom", "workload.duration=2s", "engine.options.use_direct_reads=true",
    "engine.options.cache_size=8KiB",
)  # fmt: skip
READS_AND_WRITES = (
    *FILLED, "workload=readwhilewriting", "workload.benchmark_write_rate_limit=4MB/s", "engine.options.cache_size=8KiB",
    *SLOW_JOBS,
)  # fmt: skip
FILTERS, NO_FILTERS_BEFORE = "engine.options.bloom_bits=10", "prefill.options.bloom_bits=0"
FEW = "workload.num=1000"


def reads_of(*overrides: str) -> dict[str, float]:
    """Return what reads cost in a run."""
    summary = simulate(*overrides).summary
    names = ("read_amplification", "ops_per_s", "device_bytes_read", "live_bytes")
    latencies = summary["read_latency_s"] or summary["scan_latency_s"]
    return {name: summary[name] for name in names} | {"p99": latencies["p99"]}


@pytest.mark.parametrize("workload", ["readrandom", "seekrandom"])
@pytest.mark.parametrize("option", ["block_size=16KiB", "compression=lz4", "block_restart_interval=4"])
def test_reads_of_a_filled_store_depend_on_the_options_of_its_files(option: str, workload: str) -> None:
    """While nothing is written, the blocks that the prefill wrote cost what they cost in a run with the same options."""
    reads = (*READS, f"workload={workload}")
    both = reads_of(*reads, f"engine.options.{option}")
    filled = reads_of(*reads, f"prefill.options.{option}")

    assert filled == pytest.approx(both, rel=1e-4)
    assert both != pytest.approx(reads_of(*reads), rel=1e-3)


@pytest.mark.parametrize("engine", ["leveldb", "ldc", "triad", "pebblesdb", "vlsm", "universal", "lazy_leveling", "adoc"])
def test_every_engine_reads_and_compacts_files_of_two_formats(engine: str) -> None:
    """A get in a tree of old and new files reads fewer blocks than without any filter, more than with filters everywhere."""
    slow = "workload.benchmark_write_rate_limit=2MB/s"  # compactions keep up, so that all three trees have the same shape
    work = (*READS_AND_WRITES, slow, f"engine={engine}", "workload.duration=2s", "engine.options.max_open_files=20")
    mixed, filters, none = (
        simulate(*work, *more).summary
        for more in (
            (FILTERS, NO_FILTERS_BEFORE, "prefill.options.block_size=16KiB", "prefill.options.compression=zstd"),
            (FILTERS,), ("engine.options.bloom_bits=0",),
        )
    )  # fmt: skip

    assert filters["read_amplification"] < mixed["read_amplification"] < none["read_amplification"]


def test_files_without_filters_have_none_until_compactions_rewrite_them() -> None:
    """A get in a store that was filled without filters reads as many blocks as one without filters, later fewer."""
    few, many = ("workload.duration=1s", "workload.benchmark_write_rate_limit=50KB/s"), ("workload.duration=20s",)
    without, first = (reads_of(*READS_AND_WRITES, *few, *more) for more in ((), (FILTERS, NO_FILTERS_BEFORE)))
    always, never, later = (
        reads_of(*READS_AND_WRITES, *many, *more)["read_amplification"]
        for more in ((FILTERS,), (), (FILTERS, NO_FILTERS_BEFORE))
    )

    assert without["read_amplification"] == first["read_amplification"] > 2.0
    assert always < later < 0.5 * (always + never)
    memory = [simulate(*READS_AND_WRITES, *work, FILTERS, NO_FILTERS_BEFORE).summary["memory"] for work in (few, many)]
    assert 0 == memory[0]["filter_bytes"] < memory[1]["filter_bytes"]


def test_a_store_without_a_filter_policy_ignores_the_filters_of_its_files() -> None:
    """RocksDB looks for a file's filter only if it has a filter policy; then the file's bits count, not the policy's.

    db_bench 7.8 on 200,000 keys that were filled with 10 bits: 32,406 blocks for 20,000 gets with -1 and with 0 bits, 20,127
    with 5 and with 10.
    """
    bits = "prefill.options.bloom_bits=10"
    ignored, read, ten = (
        reads_of(*READS, *more)["read_amplification"] for more in ((bits,), (bits, "engine.options.bloom_bits=5"), (FILTERS,))
    )

    assert ignored > 2.0 * read
    assert read == pytest.approx(ten, rel=1e-9)


def test_files_at_the_start_have_the_sizes_of_the_prefill() -> None:
    """Flushed files have the size of the prefill's memtables, other files its target size."""
    flushed = {
        size: simulate(
            *FILLED, FEW, "prefill.options.disable_auto_compactions=true", f"prefill.options.write_buffer_size={size}"
        ).summary["prefill"]
        for size in ("1MiB", "4MiB")
    }
    targets = {
        size: simulate(*FILLED, FEW, f"prefill.options.target_file_size_base={size}").summary["prefill"]["files_per_level"]
        for size in ("256KiB", "1MiB")
    }

    assert {"disable_auto_compactions": True, "write_buffer_size": "4MiB"} == flushed["4MiB"]["options"]
    assert flushed["1MiB"]["files_per_level"][0] == pytest.approx(4 * flushed["4MiB"]["files_per_level"][0], abs=4)
    assert sum(targets["256KiB"][1:]) > 2.5 * sum(targets["1MiB"][1:])


def test_the_run_works_with_its_own_options() -> None:
    """After a prefill without compactions, the run compacts at once; it flushes memtables of its own size."""
    before = ("prefill.options.disable_auto_compactions=true", "prefill.options.write_buffer_size=4MiB")
    summary = simulate(*FILLED, *before, "workload.duration=3s").summary

    assert summary["prefill"]["files_per_level"][1:] == [0] * 6
    assert summary["compaction_count"] > 0
    assert summary["flush_bytes"] / summary["flush_count"] < 1.5 * 2**20
    assert "4194304" not in str(summary["options"]["write_buffer_size"])


def test_the_page_cache_keeps_its_pages_and_takes_the_rules_of_the_run() -> None:
    """After a buffered prefill, direct reads go to the device and buffered reads find the pages."""
    reads = (*READS, "device.page_cache=1GiB")
    direct = simulate(*reads, "prefill.options.use_direct_reads=false").summary
    buffered = simulate(*reads, "engine.options.use_direct_reads=false", "prefill.options.use_direct_reads=true").summary

    assert direct["device_bytes_read"] > 0.9 * 4096 * direct["operations"]
    assert 0 == buffered["device_bytes_read"]


@pytest.mark.parametrize("same", ["={}", ".bloom_bits=null", ".write_buffer_size=1MiB"])
def test_equal_options_change_nothing(same: str) -> None:
    """With no options, or those of the run, results are those without the key, to the last bit."""
    work = (*READS_AND_WRITES, "workload.duration=2s")
    plain, other = simulate(*work), simulate(*work, f"prefill.options{same}")

    for name in ("jobs", "series", "latency"):
        before, after = getattr(plain, name), getattr(other, name)
        assert {k: np.asarray(v).tolist() for k, v in before.items()} == {k: np.asarray(v).tolist() for k, v in after.items()}


def test_inputs_are_decompressed_as_they_were_written() -> None:
    """Compactions of a compressed store take CPU time to decompress it, although the run compresses nothing."""
    work = ("workload=overwrite", *FILLED, "workload.duration=4s", "prefill.options.max_background_jobs=1")
    per_entry = []
    for codec in ("none", "zlib"):
        jobs = simulate(*work, f"prefill.options.compression={codec}").jobs
        deep = (np.asarray(jobs["kind"]) == "compaction") & (np.asarray(jobs["start_level"]) == 1)
        per_entry.append(jobs["cpu_s"][deep][0] / jobs["entries_in"][deep][0])

    assert per_entry[1] > 1.5 * per_entry[0]


def test_small_files_of_the_prefill_have_enough_sampled_keys() -> None:
    """The smaller of the files of prefill and run decides how many keys are sampled."""
    rates = [
        set_up(*FILLED, "workload.duration=60s", *more).families[0].sample.rate
        for more in ((), ("prefill.options.write_buffer_size=128KiB",))
    ]

    assert rates[1] > rates[0]


def test_families_keep_options_of_their_own() -> None:
    """`prefill.options` replace the options of the store, not those that a column family sets for itself."""
    families = (
        "+engine.families.cold.options.target_file_size_base=1MiB", "+workload.families.default.writes=50",
        "+workload.families.cold.writes=50",
    )  # fmt: skip
    files = simulate(*FILLED, *families, FEW, "prefill.options.target_file_size_base=128KiB").summary["prefill"]
    whole = simulate(*FILLED, *families, FEW, "prefill.options.target_file_size_base=1MiB").summary["prefill"]

    assert sum(whole["files_per_level"]) < sum(files["files_per_level"]) < 6 * sum(whole["files_per_level"])


def test_an_upgrade_to_dynamic_levels_moves_files_down() -> None:
    """A store filled with static levels opens with its files in the last levels since RocksDB 8.2, and where they were before."""
    dynamic = ("engine.options.level_compaction_dynamic_level_bytes=true", "workload.writes=1")
    static = "prefill.options.level_compaction_dynamic_level_bytes=false"
    for version, in_l1 in (("8.1", True), ("8.2", False)):
        summary = simulate(*FILLED, *dynamic, static, f"engine.version={version}").summary
        filled, opened = summary["prefill"]["files_per_level"], {row["level"]: row["files"] for row in summary["levels"]}
        last = [n for n in filled[1:] if n]
        assert opened.get(1, 0) == (filled[1] if in_l1 else 0)
        assert in_l1 or [opened[7 - len(last) + i] for i in range(len(last))] == last


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["prefill.options.bloom_bit=10"], r"prefill\.options\.bloom_bit: no such option; did you mean bloom_bits"),
        (["prefill.options.bloom_bits=many"], r"prefill\.options\.bloom_bits: .*many"),
        (["prefill.options=10"], r"prefill\.options: must be a mapping"),
        (["prefill.options.num_levels=4"], r"prefill\.options\.num_levels: 4 must equal the run's, 7.*set engine\.options"),
        (["prefill.options.compaction_style=universal"], r"prefill\.options\.compaction_style: .*Universal.*Level"),
        (["engine.options.sync=true", "prefill.options.disable_wal=true"], r"prefill\.options\.sync: .* disable_wal"),
        (["~prefill", "prefill.options.bloom_bits=0"], r"prefill: it has no workload; choose one, such as prefill=fillrandom"),
        (["+workload.options.bloom_bits=10"], r"workload\.options"),
    ],
)
def test_what_cannot_differ_is_refused(options: list[str], words: str) -> None:
    """An unknown option, a bad value, and an option that decides the levels of files raise one error with the key."""
    with pytest.raises(InputError, match=words):
        run(configuration(*FILLED, FEW, *options))


def test_the_options_are_part_of_the_runs_key_and_of_its_estimate() -> None:
    """Two runs whose prefills differ in an option have different keys; small memtables cost more time."""
    plain, other = configuration(*FILLED), configuration(*FILLED, "prefill.options.write_buffer_size=128KiB")

    assert run_key(plain) != run_key(other)
    assert estimate(other).work > 1.5 * estimate(plain).work


def test_a_run_of_two_formats_is_two_runs() -> None:
    """Files of each format keep their order; together the parts have all files."""
    filtered, plain = TableFormat(bloom_bits=10.0), TableFormat()
    files = [
        SortedFile(i, 10 * i, 10 * i + 5, size_bytes=100, table_format=filtered if i % 3 else plain) for i in range(7)
    ]
    parts = dict(by_format(Level(files), (filtered, plain)))

    assert [1, 2, 4, 5] == [f.number for f in parts[filtered]]
    assert [0, 3, 6] == [f.number for f in parts[plain]]
    assert 700 == sum(part.size_bytes for part in parts.values())
