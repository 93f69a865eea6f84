"""Several databases on one machine: what they share, whose stall stops whom, and their results."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from draining import check_entries
from lsmlab.models import since
from lsmlab.models.errors import InputError
from lsmlab.models.tree.memtable import arena_blocks, arena_bytes, next_block_at
from lsmlab.reports.tables import databases
from lsmlab.sim.explain.summary_text import summary_text
from lsmlab.sim.results.database_text import rankings
from lsmlab.sim.results.results import Result
from lsmlab.sim.setting import Setting
from lsmlab.sim.store.thread_pools import ThreadPool
from lsmlab.sim.store.write_buffer_manager import WriteBufferManager
from lsmlab.sim.studies.goals import memory_bytes
from lsmlab.validation.casefiles.case import read_case
from lsmlab.validation.casefiles.overrides import overrides_of
from running import configuration, simulate

KIB, MIB = 1 << 10, 1 << 20
BASE = (
    "workload=constant", "workload.read=0", "workload.update=1", "workload.num=20000", "workload.preload=0",
    "workload.value_size=1000", "workload.threads=1", "workload.duration=20s", "engine.options.write_buffer_size=4MiB",
    "save.events=false",
)  # fmt: skip


def many(databases: str, *overrides: str) -> Result:
    """Simulate a run of several databases, each with the load of `BASE`."""
    return simulate(*BASE, f"databases={databases}", *overrides)


def each(result: Result) -> dict[str, dict[str, object]]:
    """Return the numbers of each database by name."""
    return {one["name"]: one for group in result.summary["databases"].values() for one in group["each"]}


# --- one database is a list of one -------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [("workload.rate=5000",), ("workload=fillrandom", "workload.num=60000", "workload.duration=5s")])
def test_a_list_of_one_database_is_a_plain_run(load: tuple[str, ...]) -> None:
    """Jobs, series and stalls of a run of one database do not depend on how it is written."""
    plain = simulate(*BASE, *load) if len(load) == 1 else simulate(*load, "save.events=false")
    listed = simulate(*(BASE if len(load) == 1 else ("save.events=false",)), *load, "databases={store: {}}")

    assert {name: values.tolist() for name, values in plain.series.items()} == {
        name: values.tolist() for name, values in listed.series.items()
    }
    assert plain.jobs["end_s"].tolist() == listed.jobs["end_s"].tolist()


# --- arena blocks ------------------------------------------------------------------------------------------------------


def test_a_memtable_takes_whole_blocks() -> None:
    """An empty memtable takes 2 KiB, the first entries none more, and each further entry a block once the last is full."""
    used = [0, 1000, 3000, MIB, MIB + 3000]
    assert [2 * KIB, 2 * KIB, MIB + 2 * KIB, MIB + 2 * KIB, 2 * MIB + 2 * KIB] == arena_bytes(used, MIB).tolist()


def test_the_next_block_begins_where_the_arena_is_full() -> None:
    """At the bytes of the next block an arena has one block more, and just before not yet."""
    at = next_block_at([0.0, 5000.0], [MIB, MIB])
    assert [1.0, 2.0] == arena_blocks(at, MIB).tolist()
    assert [0.0, 1.0] == arena_blocks(at - 1.0, MIB).tolist()


def families(count: int, buffer: str) -> Result:
    """Simulate `count` families of 16 MiB memtables that are flushed together, below one buffer."""
    names = ["default", *(f"f{i}" for i in range(1, count))]
    own, loads = (",".join(f"{n}:{{{v}}}" for n in names) for v in ("", "writes:1"))
    return simulate(
        "engine.version='9.8'", "workload=fillrandom", "workload.num=256k", "workload.value_size=1024", "workload.duration=1s",
        "engine.options.write_buffer_size=16MiB", "engine.options.max_write_buffer_number=16",
        f"engine.options.db_write_buffer_size={buffer}", "engine.options.atomic_flush=true", f"+engine.families={{{own}}}",
        f"+workload.families={{{loads}}}", "save.events=false",
    )  # fmt: skip


def test_many_small_memtables_fill_a_small_buffer() -> None:
    """Blocks of all active memtables take half of the buffer: every few entries cause a flush, and writers stop.

    With half as many families, memtables grow until 7/8 of the buffer is full.
    """
    few, lots = families(8, "32MiB"), families(16, "32MiB")
    small = lots.summary["flush_bytes"] / lots.summary["flush_count"]

    assert few.summary["flush_bytes"] / few.summary["flush_count"] > MIB
    assert small < 100 * KIB
    assert lots.summary["ops_per_s"] < few.summary["ops_per_s"] / 10


# --- write buffer manager ----------------------------------------------------------------------------------------------


def test_a_full_buffer_stops_writers_only_if_allowed() -> None:
    """ShouldStall needs allow_stall and as much memory as the buffer has."""
    assert [False, False, True] == [
        WriteBufferManager(8.0, allow).stops(memory) for allow, memory in ((False, 9.0), (True, 7.9), (True, 8.0))
    ]


TWO = "{busy: {workload: {rate: 30000}}, calm: {workload: {rate: 200}}}"
SLOW = ("limits.write_cap=20MB/s", "shared.write_buffer_manager=12MiB", "workload.num=50000")


def test_the_stall_of_a_shared_buffer_stops_every_database_of_the_process() -> None:
    """With allow_stall, a calm database stops with the one that fills the buffer; in another process it does not."""
    together = each(many(TWO, *SLOW, "shared.allow_stall=true"))
    apart = each(many(TWO.replace("rate: 200}", "rate: 200}, process: other"), *SLOW, "shared.allow_stall=true"))
    free = each(many(TWO, *SLOW))

    assert together["busy"]["stall_seconds"]["write_buffer_manager_limit"] > 0.5
    assert together["calm"]["stall_seconds"]["write_buffer_manager_limit"] > 0.1
    assert {} == apart["calm"]["stall_seconds"]
    assert {} == free["calm"]["stall_seconds"]


def test_the_database_that_writes_next_flushes_its_own_memtable() -> None:
    """A calm database flushes small memtables when the others fill the buffer: the manager does not choose the largest."""
    alike = "{busy: {count: 3, workload: {rate: 4000}}, calm: {workload: {rate: 400}}}"
    found = each(many(alike, "shared.write_buffer_manager=6MiB"))

    assert {"Write Buffer Manager"} == set(found["calm"]["flush_reasons"])
    assert found["calm"]["mean_flush_bytes"] < found["busy-1"]["mean_flush_bytes"]


def test_a_database_without_a_shared_buffer_has_its_own() -> None:
    """`db_write_buffer_size` bounds each database by itself."""
    found = each(many("{store: {count: 2, workload: {rate: 2000}}}", "engine.options.db_write_buffer_size=2MiB"))
    assert [{"Write Buffer Manager"}] * 2 == [set(one["flush_reasons"]) for one in found.values()]


def test_memtables_that_wait_to_be_merged_can_be_flushed() -> None:
    """A full memtable that waits for others is no pending flush: the manager flushes it with the active one."""
    own = ("engine.options.write_buffer_size=1MiB", "engine.options.max_write_buffer_number=8",
           "engine.options.min_write_buffer_number_to_merge=4")  # fmt: skip
    free = many("{a: {}}", "workload.rate=2000", *own).jobs
    bounded = many("{a: {}}", "workload.rate=2000", *own, "shared.write_buffer_manager=2MiB").jobs
    merged, fewer = (float(jobs["input_files"][jobs["kind"] == "flush"].mean()) for jobs in (free, bounded))

    assert merged == pytest.approx(4.0, abs=0.5)
    assert fewer == pytest.approx(2.0, abs=0.7)


# --- threads -----------------------------------------------------------------------------------------------------------


def test_jobs_wait_for_threads_in_one_queue() -> None:
    """A pool begins jobs in the order in which they came, as threads become free."""
    pool, begun = ThreadPool(2), []
    for name in "abcd":
        pool.run(lambda name=name: begun.append(name))
    pool.reserve(1)
    pool.free(2)
    before = list(begun)
    pool.free(1)

    assert (["a", "b", "c"], ["a", "b", "c", "d"]) == (before, begun)


def test_databases_of_a_process_share_its_flush_threads() -> None:
    """Flushes of several databases wait for the only thread of their process, and not for those of other processes."""
    alike = "{store: {count: 8, workload: {rate: 4000}}}"
    slow = ("limits.write_cap=60MB/s",)
    one = many(alike, *slow).summary["databases"]["store"]["range"]["slot_wait_s"]
    own = many(alike.replace("count: 8", "count: 8, process: each"), *slow)
    more = many(alike, *slow, "shared.flush_threads=8", "shared.compaction_threads=8")

    assert one["median"] > 2.0 * own.summary["databases"]["store"]["range"]["slot_wait_s"]["median"]
    assert one["median"] > 2.0 * more.summary["databases"]["store"]["range"]["slot_wait_s"]["median"]


# --- loads and results -------------------------------------------------------------------------------------------------


def test_share_and_start() -> None:
    """`share` scales keys and rate of a database; its clients begin at `start_s`."""
    found = each(many("{a: {}, b: {share: 0.5}, late: {start_s: 15s}}", "workload.rate=1000"))

    assert [20_000, 10_000, 5_000] == pytest.approx([found[name]["operations"] for name in ("a", "b", "late")], rel=0.01)


def test_results_are_sums_and_ranges() -> None:
    """The summary adds up the databases; alike ones have a range; tables name the database by its number."""
    result = many("{store: {count: 3, workload: {rate: 3000}}, one: {workload: {rate: 500}}}")
    summary, found = result.summary, each(result)
    ranges = summary["databases"]["store"]["range"]["flush_count"]

    assert ["store-1", "store-2", "store-3", "one"] == list(found)
    assert summary["operations"] == pytest.approx(sum(one["operations"] for one in found.values()))
    assert summary["flush_bytes"] == sum(one["flush_bytes"] for one in found.values())
    assert {0, 1, 2, 3} == set(result.jobs["shard"].tolist())
    assert ranges["min"] <= ranges["median"] <= ranges["max"]
    text = summary_text(summary)
    assert "store (3)" in text
    assert "median" in text


def test_the_page_ranks_the_databases() -> None:
    """A row per entry and value, then every database, the one that was stalled most first."""
    result = many(TWO, *SLOW, "shared.allow_stall=true")
    (section,) = databases(SimpleNamespace(summary=result.summary))  # type: ignore[arg-type]
    groups, _, each_database = section.content

    assert [["busy (1)", ""], ["calm (1)", ""]] == [list(row[:2]) for row in groups.rows]
    assert {"busy", "calm"} == {row[0] for row in each_database.rows}
    assert "Fewest writes per second: calm (" in "".join(rankings(result.summary["databases"]))
    assert [] == databases(SimpleNamespace(summary=simulate(*BASE, "workload.rate=500").summary))  # type: ignore[arg-type]


def test_memory_of_all_databases() -> None:
    """Memtables and caches count once per database, or as their shared budgets; memory charged to the cache counts once."""
    own = ("databases={a: {count: 10}}", "engine.options.write_buffer_size=8MiB", "engine.options.cache_size=16MiB")
    shared = ("shared.write_buffer_manager=64MiB", "shared.block_cache=128MiB")
    sizes = [memory_bytes(configuration(*own, *more)) for more in ((), shared, (*shared, "shared.cost_to_cache=true"))]

    assert [10 * (2 * 8 + 16) * MIB, (64 + 128) * MIB, 128 * MIB] == sizes


def test_databases_may_have_phases() -> None:
    """Every database goes through the phases of the workload by itself."""
    result = simulate(
        "workload=phases", "databases={a: {count: 2}, late: {start_s: 2s}}", "save.events=false", "workload.num=20k",
        "workload.phases=[fillrandom,compact,overwrite]",
    )  # fmt: skip

    assert [40_000] * 3 == pytest.approx([one["operations"] for one in each(result).values()])
    assert result.summary["job_reasons"]["ManualCompaction"] >= 3


def test_phases_have_a_row_per_entry() -> None:
    """A phase of alike databases is one row: sums of their operations and bytes, the mean of their stalls."""
    own = "workload: {phases: [fillrandom, readrandom]}"
    result = simulate(
        "workload=phases", f"databases={{a: {{count: 2}}, b: {{{own}}}}}", "save.events=false", "workload.num=20k",
        "workload.phases=[fillrandom,compact,overwrite]",
    )  # fmt: skip
    rows = {(row["database"], row["phase"]): row for row in result.summary["phases"]}

    assert [("a", "fillrandom"), ("a", "compact"), ("a", "overwrite"), ("b", "fillrandom"), ("b", "readrandom")] == list(rows)
    assert [40_000, 0, 40_000, 20_000, 20_000] == [round(row["operations"]) for row in rows.values()]
    assert sum(row["operations"] for row in rows.values()) == pytest.approx(result.summary["operations"])
    ended = sum(row["flush_bytes"] for row in rows.values())
    assert 0 < ended == result.summary["flush_bytes"]
    assert "a: compact" in summary_text(result.summary)


# --- trees at the start ------------------------------------------------------------------------------------------------

PREFILLED = ("prefill=fillrandom", "prefill.num=20000", "prefill.value_size=1000", "workload.rate=1000")


def test_a_prefill_fills_alike_databases_once() -> None:
    """Databases of an entry begin with the same tree, each with files of its own; `share` scales the load."""
    entries = "{a: {count: 3}, b: {share: 0.5}}"
    still, busy = many(entries, *PREFILLED, "workload.rate=1"), many(entries, *PREFILLED)
    filled = {name: group["prefill"] for name, group in still.summary["databases"].items()}
    found = each(still)

    assert [20_000, 10_000] == [round(filled[name]["operations"]) for name in "ab"]
    assert [filled["a"]["live_bytes"]] * 3 == [found[name]["live_bytes"] for name in ("a-1", "a-2", "a-3")]
    assert filled["b"]["live_bytes"] == found["b"]["live_bytes"]
    assert len({one["compaction_write_bytes"] for one in busy.summary["databases"]["a"]["each"]}) > 1  # each by itself
    assert "b: fillrandom, 10,000 operations" in summary_text(still.summary)
    check_entries(busy)


def test_a_list_of_one_prefilled_database_is_a_plain_run() -> None:
    """A prefill, page cache and device state included, does not depend on how the only database is written."""
    plain, listed = simulate(*BASE, *PREFILLED), many("{store: {}}", *PREFILLED)

    assert plain.jobs["end_s"].tolist() == listed.jobs["end_s"].tolist()
    assert plain.summary["prefill"] == listed.summary["prefill"]


def test_entries_may_differ_in_prefill_and_tree() -> None:
    """An entry changes keys of the prefill, or begins with files of its own."""
    tree = "initial_tree: [{level: 1, size_bytes: 4MiB}, {level: 2, size_bytes: 9MiB}]"
    result = many(f"{{a: {{}}, small: {{prefill: {{num: 5000}}, workload: {{num: 5000}}}}, b: {{{tree}}}}}", *PREFILLED)
    groups = result.summary["databases"]

    assert [20_000, 5_000] == [round(groups[name]["prefill"]["operations"]) for name in ("a", "small")]
    assert "prefill" not in groups["b"]
    check_entries(result)


@pytest.mark.parametrize(
    "more",
    [
        ("engine.options.enable_blob_files=true", "engine.options.min_blob_size=500"), ("engine=universal",),
        ("+engine.families={lock: {}}", "+workload.families={default: {writes: 1}, lock: {writes: 1}}"),
    ],
)  # fmt: skip
def test_copies_of_a_prefill_keep_their_entries(more: tuple[str, ...]) -> None:
    """Blob files, sorted runs and column families are copied with the trees; each database goes on with its own."""
    result = many("{a: {count: 2}}", *PREFILLED, *more, "workload.rate=2000", "workload.duration=8s")

    check_entries(result)
    assert all(one["live_bytes"] > result.summary["databases"]["a"]["prefill"]["live_bytes"] for one in each(result).values())


def test_an_initial_tree_is_that_of_every_database() -> None:
    """Each database begins with all files of the table."""
    tree = "initial_tree=[{level: 0, size_bytes: 1MiB}, {level: 1, size_bytes: 4MiB}]"
    result = many("{a: {count: 2}, b: {}}", tree, "workload.rate=100", "workload.duration=2s")

    assert [5 * MIB] * 3 == [one["live_bytes"] for one in each(result).values()]
    check_entries(result)


def test_databases_share_the_block_cache_by_their_reads() -> None:
    """One cache is divided in proportion to the reads; the write buffer manager may take its part of it first."""
    config = configuration(
        "workload=constant", "databases={a: {}, b: {share: 3}}", "shared.block_cache=80MiB", "shared.cost_to_cache=true",
        "shared.write_buffer_manager=40MiB",
    )  # fmt: skip

    assert [10 * MIB, 30 * MIB] == [one.setting.engine.options.cache_size for one in Setting.of(config).databases]


# --- input -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("databases={a: {cuont: 2}}",), "databases.a.cuont: no such key; did you mean databases.a.count?"),
        (("databases={a: {options: {write_bufer_size: 1}}}",), "databases.a.options.write_bufer_size"),
        (("databases={a: {options: {use_direct_reads: true}}}",), "set engine.options.use_direct_reads"),
        (("databases={a: {workload: {duration: 5s}}}",), "set workload.duration"),
        (("databases={a: 5}",), "databases.a: 5 must be a mapping"),
        (("databases={a: {count: 600}, b: {count: 600}}",), "1200 databases; a run may have 1000"),
        (("databases={a: {start_s: 1h}}", "workload.duration=10s"), "databases.a.start_s"),
        (("databases={a: {}}", "workload.shards=2"), "set workload.shards=1"),
        (("databases={a: {prefill: {num: 5}}}",), "databases.a.prefill: the run has no prefill"),
        (("databases={a: {initial_tree: 5}}",), "initial_tree"),
        (("databases={a: {count: 2}}", "engine=silk"), "databases.a: silk"),
        (("shared.allow_stall=true",), "set shared.write_buffer_manager"),
        (("shared.allow_stall=true", "shared.write_buffer_manager=1MiB", "engine.version='6.20'"), "since 6.21"),
        (("shared.cost_to_cache=true", "shared.write_buffer_manager=1MiB"), "set shared.block_cache"),
    ],
)
def test_input_is_refused_with_its_key(overrides: tuple[str, ...], message: str) -> None:
    """Each wrong value names its key and the remedy."""
    with pytest.raises(InputError) as error:
        simulate(*overrides)
    assert message in str(error.value)


def test_rules_of_the_manager_begin_with_their_release() -> None:
    """allow_stall came in 6.21; families with a flush are left out since 7.6."""
    assert ("6.21", "7.6") == (str(since.MANAGER_MAY_STALL), str(since.MANAGER_LEAVES_OUT_FLUSHES))


def test_stalls_wait_for_the_threads_of_the_process() -> None:
    """Memtables of one database are full while the only flush thread writes those of others: the thread is the bottleneck."""
    result = simulate(
        "workload=constant", "workload.rate=3000", "workload.read=0", "workload.update=1", "workload.num=100k",
        "workload.threads=1", "workload.value_size=1000", "workload.duration=6s", "databases={many: {count: 6}}",
        "engine.options.write_buffer_size=1MiB", "engine.options.disable_wal=true", "device.write_cap=12MB/s",
    )  # fmt: skip

    waits = result.summary["stall_waits_s"]
    assert "flush_slots" == max(waits, key=lambda holder: sum(waits[holder].values()))
    assert 0.9 < result.summary["bottleneck"]["uses"]["flush_slots"]


# --- recordings --------------------------------------------------------------------------------------------------------

WIDER = Path(__file__).parents[1] / "validation" / "cases" / "wider"


@pytest.mark.parametrize("name", ["q3_two_rate_bw100", "q3_two_bw80_v200"])
def test_two_recorded_databases(name: str) -> None:
    """Two databases in two processes behind one cap: docs/how-to/many-databases.md has the numbers."""
    case = read_case(WIDER / name / "case.yaml")
    result = simulate(*case.overrides, "save.events=false")

    assert case.measured["write_amplification"] == pytest.approx(result.summary["write_amplification"], rel=0.05)
    assert case.measured["ops_per_s"] == pytest.approx(result.summary["ops_per_s"], rel=0.06)
    assert case.measured["flush_count"] == pytest.approx(result.summary["flush_count"], rel=0.06)


def test_a_case_may_have_databases() -> None:
    """A case file names databases and what they share as a configuration does."""
    own = {"databases": {"db": {"count": 2, "process": "each"}}, "shared": {"flush_threads": 1}}
    overrides, _ = overrides_of({"store": {"engine": "rocksdb"}, "workload": {"base": "fillrandom"}, **own}, WIDER)
    config = configuration(*overrides)

    assert own["databases"] == config["databases"]
    assert 1 == config["shared"]["flush_threads"]
    assert config["shared"]["rate_limiter"]
