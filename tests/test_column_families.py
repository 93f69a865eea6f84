"""Column families of one database: shared limits, stalls, and the order of flushes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lsmlab.models.engines.make import make_engines
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import StallCause, StallInputs
from lsmlab.models.policies.rocksdb.throttle import RocksDbThrottle
from lsmlab.models.version import Version
from lsmlab.sim.configuration.options_input import options_overrides
from lsmlab.sim.explain.summary_text import summary_text
from lsmlab.sim.results.results import Result
from lsmlab.sim.store.wal_files import WalFiles
from lsmlab.sim.store.write_buffer_manager import WriteBufferManager
from lsmlab.sim.store.write_controller import WriteController
from running import SLOW_JOBS, SMALL, configuration, run

MIB = 1 << 20


def simulate(families: str, loads: str, *more: str, checks: bool = True) -> Result:
    """Simulate a small database with these column families."""
    config = configuration(*SMALL, f"+engine.families={families}", f"+workload.families={loads}", *more)
    return run({**config, "checks": checks})


def flushes(result: Result, family: str) -> dict[str, Any]:
    """Return the columns of jobs.parquet for the flushes of one column family."""
    jobs = result.jobs
    chosen = (np.asarray(jobs["kind"]) == "flush") & (np.asarray(jobs["column_family"]) == family)
    return {name: np.asarray(values)[chosen] for name, values in jobs.items()}


# --- WAL files ---------------------------------------------------------------------------------------------------------


def test_a_seldom_flushed_family_keeps_the_wals_of_others() -> None:
    """WALs 1 and 2 stay while the unflushed data of family 1 begin in WAL 1; the flush of family 1 frees both."""
    wals = WalFiles()
    wals.add_family(0)
    wals.add_family(1)
    first = wals.switch_memtable(0, 10.0)
    wals.switch_memtable(0, 20.0)

    assert 1 == first
    assert [] == wals.delete_before(min(wals.active_since(0), wals.active_since(1)))
    assert 30.0 == wals.closed_bytes
    wals.switch_memtable(1, 5.0)
    assert [10.0, 20.0] == wals.delete_before(min(wals.active_since(0), wals.active_since(1)))
    assert 5.0 == wals.closed_bytes  # family 0 has written to the third WAL


def test_a_family_without_writes_keeps_no_wal() -> None:
    """The unflushed data of an empty family begin in the current WAL."""
    wals = WalFiles()
    wals.add_family(0)
    wals.switch_memtable(0, 10.0)

    assert [10.0] == wals.delete_before(min(wals.active_since(0), wals.active_since(1)))


def test_the_oldest_wal_causes_one_flush() -> None:
    """max_total_wal_size requests one flush per oldest WAL (getting_flushed); the next after that WAL is deleted."""
    wals = WalFiles()
    wals.add_family(0)
    wals.switch_memtable(0, 10.0)
    wals.flush_oldest()
    before = wals.may_flush_oldest
    wals.delete_before(2)

    assert not before
    assert wals.may_flush_oldest


def test_max_total_wal_size_flushes_the_family_with_the_oldest_wal() -> None:
    """A family with 1 % of the writes is flushed because of the WAL limit, a busy one because its memtable is full."""
    families, loads = "{default:{},cold:{}}", "{default:{writes:99},cold:{writes:1}}"
    result = simulate(families, loads, "engine.options.max_total_wal_size=6MiB")
    cold = result.summary["column_families"]["cold"]["flush_reasons"]
    unlimited = simulate(families, loads, "engine.options.max_total_wal_size=1GiB")

    assert {"WAL Full"} == set(cold)
    assert cold["WAL Full"] > 2
    assert {} == unlimited.summary["column_families"]["cold"]["flush_reasons"]
    assert "Write Buffer Full" in result.summary["column_families"]["default"]["flush_reasons"]


def test_the_default_limit_is_four_times_all_memtables() -> None:
    """The default is 4 x the sum of write_buffer_size x max_write_buffer_number over families: 4 x (2 + 4) MiB here."""
    result = simulate(
        "{cold:{options:{write_buffer_size:2MiB}}}", "{default:{writes:99},cold:{writes:1}}", "workload.num=500000"
    )
    cold = flushes(result, "cold")
    written = float(cold["entries_in"][0]) * 100 * (131 + 7)  # this family gets one write of 100

    assert "WAL Full" == cold["reason"][0]
    assert 24 * MIB == pytest.approx(written, rel=0.1)


def test_a_cold_family_keeps_wals_from_its_first_entry_on() -> None:
    """A family with a write now and then keeps all later WALs, up to the limit; an empty one keeps none."""
    families, limit = "{cold:{}}", "engine.options.max_total_wal_size=8MiB"
    cold = simulate(families, "{default:{writes:1000},cold:{writes:1}}", limit).summary
    empty = simulate(families, "{default:{writes:1},cold:{writes:0}}", limit).summary
    kept = cold["column_families"]["cold"]["wal_kept_bytes"]

    assert 4 * MIB < kept < 8.1 * MIB
    assert kept < cold["wal"]["peak_bytes"] < 11 * MIB
    assert 0.0 == empty["column_families"]["cold"]["wal_kept_bytes"]
    assert empty["wal"]["peak_bytes"] < 0.6 * cold["wal"]["peak_bytes"]
    assert "column family cold alone kept" in " ".join(summary_text(cold).split())
    assert "WAL files" not in summary_text(empty)


def test_an_empty_family_is_released_by_each_new_wal() -> None:
    """A family that was flushed and is not written any more keeps no WAL: each new one becomes its oldest."""
    wals = WalFiles()
    for family in (0, 1):
        wals.add_family(family)
    wals.switch_memtable(1, 10.0)
    wals.switch_memtable(0, 10.0)
    kept = wals.active_since(1)
    wals.release_empty(1)

    assert (2, 3) == (kept, wals.active_since(1))


# --- write buffer manager ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("active", "immutable", "flush"),
    [(6, 0, False), (7, 0, True), (3, 6, False), (4, 4, True), (4, 3, False), (0, 9, False)],
)
def test_the_write_buffer_manager_requests_a_flush(active: float, immutable: float, flush: bool) -> None:
    """With a buffer of 8, a flush is due at 7 in active memtables, or at 8 in all with at least 4 in active ones."""
    assert flush is (WriteBufferManager(8.0).room_bytes(active, immutable) <= 0.0)


def test_db_write_buffer_size_flushes_the_oldest_memtable() -> None:
    """With 1 MiB for three families, no 1 MiB memtable fills: the write buffer manager flushes each below 7/8 MiB."""
    result = simulate(
        "{b:{},c:{}}", "{default:{writes:1},b:{writes:1},c:{writes:1}}", "engine.options.db_write_buffer_size=1MiB",
        "workload.benchmark_write_rate_limit=5MB/s",
    )  # fmt: skip
    by_family = result.summary["column_families"]
    order = [
        family
        for _, family in sorted(
            (start, name) for name in by_family for start in flushes(result, name)["start_s"].tolist()
        )
    ]

    assert [{"Write Buffer Manager"}] * 3 == [set(f["flush_reasons"]) for f in by_family.values()]
    assert {"default", "b", "c"} == set(order[3:6])
    entries = np.concatenate([flushes(result, name)["entries_in"] for name in by_family])
    assert max(entries) * 145 < 7 / 8 * MIB * 1.01


# --- atomic flush ------------------------------------------------------------------------------------------------------


def test_atomic_flush_commits_all_families_together() -> None:
    """Every flush of the small family is one job with a flush of the large family and ends at the same time."""
    loads = "{default:{writes:9},small:{writes:1}}"
    result = simulate("{small:{}}", loads, "engine.options.atomic_flush=true")
    small, large = flushes(result, "small"), flushes(result, "default")

    assert len(small["end_s"]) > 2
    assert small["end_s"].tolist() == large["end_s"].tolist()
    assert small["job"].tolist() == large["job"].tolist()
    separate = simulate("{small:{}}", loads)
    assert len(flushes(separate, "small")["end_s"]) < len(flushes(separate, "default")["end_s"])


# --- stalls ------------------------------------------------------------------------------------------------------------


class Holder:
    """A column family reduced to its throttle state."""

    def __init__(self, throttle: RocksDbThrottle) -> None:
        self.throttle = throttle.initial()


def controlled(count: int) -> tuple[WriteController, RocksDbThrottle, list[Holder]]:
    """Return a write controller with `count` families, all with the default triggers."""
    throttle = RocksDbThrottle(RocksDbOptions(), Version(7, 8))
    holders = [Holder(throttle) for _ in range(count)]
    controller = WriteController(throttle.options.delayed_write_rate)
    controller.families.extend(holders)
    return controller, throttle, holders


SLOW, STOP, FREE = StallInputs(0, 20, 100), StallInputs(0, 36, 100), StallInputs(0, 0, 100)


def test_one_family_stops_all_writers() -> None:
    """Writes are stopped while any family has a stop token; the other families' tokens do not matter."""
    controller, throttle, (first, second) = controlled(2)
    controller.recompute(first, throttle, STOP)
    controller.recompute(second, throttle, FREE)
    stopped = controller.stopped
    controller.recompute(first, throttle, FREE)

    assert stopped
    assert not controller.stopped


def test_the_delayed_rate_belongs_to_the_database() -> None:
    """A delay of a second family starts from the rate of the first one's delay and lowers it for both."""
    controller, throttle, (first, second) = controlled(2)
    controller.recompute(first, throttle, SLOW)
    rate = controller.rate_bytes_per_s
    controller.recompute(second, throttle, StallInputs(0, 20, 100))  # its pending bytes were 0 before
    controller.recompute(second, throttle, StallInputs(0, 20, 200))

    assert 16 * MIB == rate
    assert int(16 * MIB * 0.8) == controller.rate_bytes_per_s
    assert StallCause.L0_SLOWDOWN is controller.delay_cause


def test_a_delay_beside_a_stopped_family_lowers_the_rate() -> None:
    """SetupDelay penalises by 0.6 if another family is stopped; with one family this never happens."""
    controller, throttle, (first, second, third) = controlled(3)
    controller.recompute(first, throttle, SLOW)
    controller.recompute(second, throttle, STOP)
    controller.recompute(third, throttle, SLOW)

    assert int(16 * MIB * 0.6) == controller.rate_bytes_per_s


def test_recovery_counts_for_the_database() -> None:
    """A family without stall raises the rate by 1.4 while another one delays, up to the maximum."""
    controller, throttle, (first, second) = controlled(2)
    controller.recompute(first, throttle, SLOW)
    controller.recompute(first, throttle, SLOW)
    low = controller.rate_bytes_per_s
    controller.recompute(second, throttle, FREE)

    assert int(16 * MIB * 0.8) == low
    assert min(16 * MIB, int(low * 1.4)) == controller.rate_bytes_per_s
    assert controller.delay_cause is not None


def test_an_l0_stop_of_a_small_family_stops_the_database() -> None:
    """A family with low L0 triggers stops the writers of all families; the stalls carry its name."""
    triggers = ",".join(f"level0_{name}_trigger:2" for name in ("file_num_compaction", "slowdown_writes", "stop_writes"))
    result = simulate(f"{{tight:{{options:{{{triggers}}}}}}}", "{default:{writes:1},tight:{writes:1}}")
    stalls = [s for s in result.stalls if s["cause"].startswith("l0_")]

    assert result.summary["stall_seconds"]["l0_stop"] > 0.0
    assert {"tight"} == {s["column_family"] for s in stalls}


# --- results and entries ---------------------------------------------------------------------------------------------


def test_one_named_family_equals_no_families() -> None:
    """families={default: {}} gives the same results as a database without families."""
    plain = run(configuration(*SMALL))
    named = simulate("{default:{}}", "{default:{writes:3}}")

    assert plain.summary == named.summary
    assert {k: v.tolist() for k, v in plain.jobs.items()} == {k: v.tolist() for k, v in named.jobs.items()}


def test_short_lived_keys_leave_few_bytes() -> None:
    """A family whose keys are soon deleted, like locks, flushes only tombstones, and compactions drop them."""
    result = simulate("{lock:{}}", "{default:{writes:1},lock:{writes:1,short_lived:true}}")
    lock, default = (result.summary["column_families"][name] for name in ("lock", "default"))

    assert flushes(result, "lock")["entries_out"].sum() <= 0.51 * flushes(result, "lock")["entries_in"].sum()
    assert lock["live_bytes"] < 0.2 * default["live_bytes"]


def test_reads_and_preloaded_keys_are_shared() -> None:
    """Every family that is read has the preloaded keys, and read amplification is the mean over families."""
    result = simulate("{b:{options:{bloom_bits:10}}}", "{default:{writes:1},b:{writes:1,reads:3}}",
                      "workload=readrandom", "workload.num=100000", "workload.value_size=100")  # fmt: skip
    families = result.summary["column_families"]

    assert [100_000, 100_000] == [f["preloaded_entries"] for f in families.values()]
    assert 0.75 == families["b"]["read_share"]
    assert 0.5 < result.summary["read_amplification"] <= 3.0


def test_a_family_may_have_keys_of_its_own_number() -> None:
    """A family of 1000 keys keeps no more than these in a flush; the other family keeps the workload's keys."""
    families = "{counters:{options:{write_buffer_size:512KiB}}}"
    loads = "{default:{writes:1},counters:{writes:1,num:1000}}"
    result = simulate(families, loads)
    counters, default = flushes(result, "counters"), flushes(result, "default")

    assert len(counters["entries_out"]) > 3
    assert 1000 == pytest.approx(counters["entries_out"][0], rel=0.05)
    assert default["entries_out"][0] > 0.9 * default["entries_in"][0]
    assert result.events is not None
    assert 0.0 <= min(result.events["smallest"])
    assert max(result.events["largest"]) <= 1.0


def test_keys_of_a_family_are_filled_before_the_run() -> None:
    """The prefill writes the same keys: at the start of the run each family holds its own number of keys."""
    loads = "{default:{writes:1},counters:{writes:1,num:5000}}"
    result = simulate("{counters:{}}", loads, "prefill=fillrandom", "prefill.num=200000", "workload.num=200000", *SLOW_JOBS)
    families = result.summary["column_families"]

    assert 4900 < families["counters"]["preloaded_entries"] < 11_000  # each key once or twice, in two levels
    assert 60_000 < families["default"]["preloaded_entries"] < 100_000  # 100,000 draws from 200,000 keys


def test_families_work_on_several_shards() -> None:
    """Each shard is a database with all column families."""
    result = simulate("{b:{}}", "{default:{writes:1},b:{writes:1}}", "workload.shards=2", "workload.num=400000")
    pairs = set(zip(result.jobs["shard"].tolist(), result.jobs["column_family"].tolist(), strict=True))

    assert {(0, "default"), (0, "b"), (1, "default"), (1, "b")} == pairs


@given(
    shares=st.lists(st.integers(1, 100), min_size=1, max_size=4),
    wal_mib=st.sampled_from([0, 3, 20]), buffer_kib=st.sampled_from([0, 700, 4000]), atomic=st.booleans(),
)  # fmt: skip
@example(shares=[99, 63, 26, 2], wal_mib=0, buffer_kib=700, atomic=False)  # full, and d is empty
@settings(max_examples=12)
def test_entries_are_conserved_per_family(shares: list[int], wal_mib: int, buffer_kib: int, atomic: bool) -> None:
    """A family flushes no more entries than were written to it; flushed entries are live or were dropped."""
    names = ["default", "b", "c", "d"][: len(shares)]
    families = "{" + ",".join(f"{n}:{{}}" for n in names) + "}"
    loads = "{" + ",".join(f"{n}:{{writes:{s}}}" for n, s in zip(names, shares, strict=True)) + "}"
    result = simulate(
        families, loads, f"engine.options.max_total_wal_size={wal_mib}MiB", "workload.num=60000",
        f"engine.options.db_write_buffer_size={buffer_kib}KiB", f"engine.options.atomic_flush={str(atomic).lower()}",
    )  # fmt: skip
    jobs = result.jobs
    kinds = np.where(jobs["unfinished"], "unfinished", np.asarray(jobs["kind"]))
    own = np.asarray(jobs.get("column_family", np.full(len(kinds), "default")))
    total = result.summary["operations"]
    for name, share in zip(names, shares, strict=True):
        flushed = jobs["entries_in"][(kinds == "flush") & (own == name)].sum()
        kept = jobs["entries_out"][(kinds == "flush") & (own == name)].sum()
        merged = (kinds == "compaction") & (own == name)
        dropped = (jobs["entries_in"] - jobs["entries_out"])[merged].sum()
        live = result.summary["column_families"][name]["live_entries"] if len(names) > 1 else result.summary["live_entries"]
        assert flushed <= total * share / sum(shares) * (1 + 1e-6) + 1
        assert kept == pytest.approx(live + dropped, rel=1e-6, abs=1e-3)


# --- input -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["+engine.families={lock:{options:{wirte_buffer_size:1}}}"], "engine.families.lock.options.wirte_buffer_size"),
        (["+engine.families={lock:{options:{max_background_jobs:1}}}"], "engine.options.max_background_jobs"),
        (["+engine.families={lock:{option:{}}}"], "engine.families.lock"),
        (["+engine.families={lock:{}}", "+workload.families={look:{writes:1}}"], "workload.families.look"),
        (["+engine.families={lock:{}}", "+workload.families={lock:{writs:1}}"], "workload.families.lock.writs"),
        (["+engine.families={lock:{}}", "+workload.families={lock:{writes:0}}"], "workload.families"),
        (["engine=silk", "+engine.families={lock:{}}"], "engine.families"),
        (["engine=leveldb", "+engine.families={lock:{}}"], "engine.families"),
    ],
)
def test_invalid_families_are_refused(overrides: list[str], message: str) -> None:
    """Unknown options and families, options of the database, and engines without families raise errors with the key."""
    with pytest.raises(InputError) as caught:
        run(configuration("workload.duration=1s", *overrides))

    assert message in str(caught.value)


OPTIONS = """[Version]
  rocksdb_version=8.8.1
[DBOptions]
  max_background_jobs=6
[CFOptions "default"]
  write_buffer_size=134217728
  compression=kNoCompression
[TableOptions/BlockBasedTable "default"]
  block_size=8192
[CFOptions "lock"]
  write_buffer_size=33554432
  compression=kNoCompression
[TableOptions/BlockBasedTable "lock"]
  block_size=4096
"""


def test_an_options_file_gives_all_families(tmp_path: Path) -> None:
    """Sections of other families become engine.families with the options that differ from the default family's."""
    path = tmp_path / "OPTIONS"
    path.write_text(OPTIONS)
    overrides, notes = options_overrides(path, [])
    engine = configuration(*overrides, "workload.duration=1s")["engine"]

    assert {"lock": {"options": {"write_buffer_size": 33554432, "block_size": 4096}}} == engine["families"]
    assert 134217728 == engine["options"]["write_buffer_size"]
    assert any("lock" in note for note in notes)


# --- TiKV's families ---------------------------------------------------------------------------------------------------


ROOT = Path(__file__).parents[1]


def page_rows() -> list[list[str]]:
    """Return the cells of the table on docs/background/column-families.md."""
    page = (ROOT / "docs" / "background" / "column-families.md").read_text(encoding="utf-8")
    lines = page.split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [row for row in rows if row[0] != "options"]


@pytest.mark.parametrize("row", page_rows(), ids=lambda row: row[0].strip("`"))
def test_the_page_shows_what_the_experiment_gives(row: list[str]) -> None:
    """Flushes, their reason and W-Amp of TiKV's families are those of docs/background/column-families.md."""
    options = [] if row[0] == "as published" else [f"engine.options.{row[0].strip('`')}"]
    config = configuration("experiment=tikv_transactions", "device=nvme", *options)
    summary = run({**config, "checks": False}).summary
    families = summary["column_families"]
    write = families["write"]

    assert row[1:4] == [str(families[name]["flush_count"]) for name in ("default", "write", "lock")]
    assert [row[4]] == list(write["flush_reasons"])
    assert float(row[5]) == pytest.approx(write["write_amplification"], abs=0.006)
    assert float(row[6]) == pytest.approx(summary["write_amplification"], abs=0.006)
    assert float(row[7]) == pytest.approx(write["wal_kept_bytes"] / MIB, abs=1.0)
    assert 0.01 * families["default"]["live_bytes"] > families["lock"]["live_bytes"]


def test_the_options_file_of_tikv_has_the_options_of_the_experiment() -> None:
    """Every option of the OPTIONS file has the same value in the experiment, family by family."""
    overrides, _ = options_overrides(ROOT / "validation" / "demo" / "OPTIONS-tikv", [])
    from_file = make_engines(configuration(*overrides, "workload.duration=1s")["engine"])
    experiment = make_engines(configuration("experiment=tikv_transactions")["engine"])
    ignored = {"cache_size"}  # OPTIONS files do not contain the capacity of the block cache

    assert list(from_file) == ["default", "write", "lock", "raft"] == list(experiment)
    for name, engine in from_file.items():
        values, others = (asdict(e.options) for e in (engine, experiment[name]))
        assert {k: v for k, v in values.items() if k not in ignored} == {k: others[k] for k in values if k not in ignored}
