"""Stores with data before the run: from an earlier workload (prefill) or a table of files (initial tree)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from draining import check_entries
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import SortedFile
from lsmlab.sim import preload
from lsmlab.sim.preload import KeptTrees, Levels
from lsmlab.sim.results.results import Result
from running import SMALL, configuration, run, simulate

FILLED = (*SMALL, "prefill=fillrandom", "prefill.num=200000")
TREE = "initial_tree=[{level:0,size_bytes:1MiB},{level:1,size_bytes:2MiB},{level:1,size_bytes:2MiB},{level:2,size_bytes:8MiB}]"
CASES = {
    "filled": (*FILLED, "workload.duration=5s"),
    "deleted": ("workload=deleterandom", *FILLED, "workload.duration=3s"),
    "in order": (*SMALL, "prefill=fillseq", "prefill.num=100000", "workload.duration=3s"),
    "once each": (*SMALL, "prefill=filluniquerandom", "prefill.num=200000", "workload.duration=3s"),
    "several": (*FILLED, "workload.shards=3", "prefill.shards=3", "workload.duration=3s"),
    "merged memtables": (*FILLED, "engine.options.min_write_buffer_number_to_merge=2", "workload.duration=2s"),
    "table": (*SMALL, TREE, "workload.duration=5s"),
}


@pytest.mark.parametrize("name", CASES)
def test_entries_are_conserved(name: str) -> None:
    """Preloaded plus flushed entries equal live entries plus those that compactions dropped."""
    result = simulate(*CASES[name])

    assert result.summary["preloaded_entries"] > 0
    check_entries(result)


def test_counters_begin_with_the_measured_workload() -> None:
    """The summary excludes flushes, jobs, bytes and time of the prefill, which has its own section."""
    few = simulate(*FILLED, "workload.num=1000")
    summary = few.summary

    assert (0, 0, 1000) == (summary["flush_count"], summary["compaction_count"], round(summary["operations"]))
    assert 0 == summary["device_bytes_written"]
    assert summary["duration_s"] < 0.1
    assert 200_000 == round(summary["prefill"]["operations"])
    assert summary["files_per_level"] == summary["prefill"]["files_per_level"]
    assert summary["live_bytes"] == summary["prefill"]["live_bytes"]


def test_a_prefill_settles() -> None:
    """When the measured workload starts, no compaction is due: L0 is below its trigger and all scores are below 1."""
    levels = simulate(*FILLED, "workload.num=1000").summary["levels"]

    assert levels[0]["files"] < 4
    assert all(level["score"] < 1.0 for level in levels)


def test_a_prefill_agrees_with_a_loaded_store() -> None:
    """After filluniquerandom, write rate and W-Amp are those of a store preloaded with all keys, within 5 % over 24 s.

    In the first seconds they differ by more, because the trees differ in what is due next.
    """
    work = ("workload.num=1M", "workload.duration=24s", "device.write_cap=40MiB/s")
    loaded = [run(configuration("workload=overwrite", *SMALL, *work, f"seed={s}")).summary for s in (1, 2)]
    filled = [
        run(configuration("workload=overwrite", *SMALL, *work, "prefill=filluniquerandom", f"seed={s}")).summary
        for s in (1, 2)
    ]

    for name in ("ops_per_s", "write_amplification"):
        expected = np.mean([s[name] for s in loaded])
        assert np.mean([s[name] for s in filled]) == pytest.approx(expected, rel=0.05)


def test_a_row_may_describe_several_files() -> None:
    """Ten files of L1 divide a key range without overlap; four files of L0 each span all keys."""
    rows = "initial_tree=[{level:0,size_bytes:1MiB,files:4},{level:1,size_bytes:1MiB,files:10,smallest:0,largest:99999}]"
    tree = [row["files"] for row in simulate(*SMALL, rows, "workload.writes=1").summary["levels"]]

    assert [4, 10] == tree[:2]


def test_a_table_of_files_is_the_initial_tree(tmp_path: Path) -> None:
    """The store has the files of the table before the first write, from the configuration or a CSV file."""
    (tmp_path / "tree.csv").write_text("level,size_bytes\n0,1MiB\n1,2MiB\n1,2MiB\n2,8MiB\n")

    def levels(result: Result) -> list[tuple[int, int]]:
        return [(row["files"], row["bytes"]) for row in result.summary["levels"]]

    listed = simulate(*SMALL, TREE, "workload.writes=1000")
    from_csv = run(
        configuration(*SMALL, f"initial_tree={tmp_path / 'tree.csv'}", "workload.num=200000", "workload.writes=1000")
    )

    assert [(1, 1 << 20), (2, 4 << 20), (1, 8 << 20)] == levels(listed)
    assert [(1, 1 << 20), (2, 4 << 20), (1, 8 << 20)] == levels(from_csv)
    assert listed.summary["preloaded_entries"] > 0


def test_the_open_moves_an_initial_tree_down() -> None:
    """An upgrade to dynamic levels moves the files of L1 and L2 to the last levels without I/O, since RocksDB 8.2."""
    dynamic = ("engine.options.level_compaction_dynamic_level_bytes=true", "workload.writes=1")
    runs = {v: simulate(*SMALL, TREE, *dynamic, f"engine.version={v}").summary["levels"] for v in ("8.1", "8.2")}
    files = {version: {row["level"]: row["files"] for row in rows} for version, rows in runs.items()}

    assert files == {"8.1": {0: 1, 1: 2, 2: 1}, "8.2": {0: 1, 5: 2, 6: 1}}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ((*FILLED, TREE), "prefill: .* not both"),
        ((*FILLED, "prefill.key_size=20"), "prefill.key_size: 20 must equal workload.key_size, 16"),
        ((*FILLED, "prefill.num=-1"), "prefill.num"),
        ((*FILLED, "workload.shards=2"), "prefill.shards"),
        ((*SMALL, "prefill=ycsb_load"), "prefill"),
        ((*SMALL, "initial_tree=[{level:9,size_bytes:1MiB}]"), "level 9 does not exist"),
        ((*SMALL, "initial_tree=[{level:1}]"), r"initial_tree\[0\].size_bytes: a value is required"),
        ((*SMALL, "initial_tree=[{level:1,size_bytes:1MiB,largest:999999}]"), "key space"),
        ((*SMALL, "initial_tree=[{level:1,size_bytes:1GiB}]"), "widen the bounds or raise workload.num"),
        ((*SMALL, "initial_tree=3"), "list of files"),
        ((*SMALL, "initial_tree=none.csv"), "none.csv cannot be read"),
        (
            (*SMALL, "initial_tree=[{level:1,size_bytes:1MiB,largest:50000},{level:1,size_bytes:1MiB,smallest:40000}]"),
            "overlap",
        ),
    ],
)
def test_invalid_prefills_are_refused(overrides: tuple[str, ...], words: str) -> None:
    """A prefill or initial tree that does not fit the run raises an error with the key."""
    with pytest.raises(InputError, match=words):
        run(configuration(*overrides))


@pytest.mark.parametrize(
    ("engine", "levels"),
    [
        ("engine=rocksdb", {1, 2, 3}),
        ("engine=vlsm", {1, 2, 3}),
        ("engine=lazy_leveling", {2}),
        ("engine=pebblesdb", {6}),
    ],
)
def test_preloaded_records_follow_the_engines_levels(engine: str, levels: set[int]) -> None:
    """Preloaded records lie on the levels that the engine's targets give them, and no compaction is due."""
    result = run(
        configuration(
            engine, *(o for o in SMALL if not o.startswith("workload.num")), "workload=ycsb_c",
            "workload.recordcount=300k", "workload.duration=1s",
            "engine.options.level_compaction_dynamic_level_bytes=false", "engine.options.max_bytes_for_level_multiplier=4",
            *(("engine.picker.l2_capacity=32MiB",) if engine == "engine=vlsm" else ()),
            *(("engine.picker.top_level_bits=22",) if engine == "engine=pebblesdb" else ()),
        )
    )  # fmt: skip

    assert levels == {row["level"] for row in result.summary["levels"] if row["files"]}
    assert 0 == result.summary["compaction_count"] + result.summary["trivial_move_count"]


def test_runs_with_the_same_preloaded_tree_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run with an equal tree keeps it, the third has its keys; results are those of the first run."""
    trees = KeptTrees()
    monkeypatch.setattr(preload, "_TREES", trees)
    config = configuration("workload=overwrite", *SMALL, "workload.duration=2s")
    kept, tables = [], []
    for _ in range(3):
        result = run(config)
        kept.append(len(trees))
        tables.append({name: values.tolist() for name, values in result.jobs.items()})

    assert [0, 1, 1] == kept
    assert tables[0] == tables[1] == tables[2]
    run({**config, "seed": 2})
    assert 1 == len(trees), "a tree of another seed"


def test_kept_trees_are_bounded() -> None:
    """The oldest tree gives way to a new one, and a tree above the bound is not kept."""

    def tree(keys: int) -> Levels:
        return [(6, [SortedFile(7, 0, keys, size_bytes=9, entries=2.0, keys=np.arange(keys))])]

    trees = KeptTrees(most_keys=10)
    for name, keys in [("a", 6), ("a", 6), ("b", 5), ("b", 5), ("c", 11), ("c", 11)]:
        trees.add(name, tree(keys))

    assert trees.find("a", iter([1])) is None
    assert trees.find("c", iter([1])) is None
    found = trees.find("b", iter([1]))
    assert found is not None
    assert [(6, 1, 9, 2.0, 5)] == [(n, f.number, f.size_bytes, f.entries, len(f.keys)) for n, files in found for f in files]
