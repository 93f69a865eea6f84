"""Data of the explorer: columns in a page are those of the run, and its files over time are those of events.parquet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from explorer_pack import unpacked
from lsmlab.reports.explorer.jobs import lanes_of
from lsmlab.reports.explorer.packing import pack
from lsmlab.reports.explorer.section import MODULES, explorer_script
from lsmlab.reports.explorer.tree import BLOB, FILE, FROZEN, SLICE, edits_of, garbage_of, stays_of, thinned, trees_of
from lsmlab.reports.explorer.words import REASONS
from lsmlab.reports.run_data import load_run
from lsmlab.sim.results.tree_replay import tree_at
from report_fixture import write_run
from running import SMALL, simulate

BLOBS = (
    "workload=overwrite", "workload.value_size=1000", "workload.num=30000", "engine.options.enable_blob_files=true",
    "engine.options.enable_blob_garbage_collection=true", "engine.options.blob_file_size=1MiB",
)  # fmt: skip
MODELS = Path(__file__).parents[1] / "models" / "policies"


def test_packed_data_come_back() -> None:
    """Nested numbers, texts and arrays of each type come back, and the same data give the same text."""
    data = {
        "a": [1, None, "x"], "b": {"c": np.arange(5, dtype="<u2"), "d": np.array([0.1, -3.0], dtype="<f8")},
        "e": np.empty(0, dtype="<u1"),
    }  # fmt: skip

    back = unpacked(pack(data))

    assert data["a"] == back["a"]
    assert ["<u2", "<f8"] == [back["b"][name].dtype.str for name in "cd"]
    assert ([0, 1, 2, 3, 4], [0.1, -3.0], []) == tuple(x.tolist() for x in (back["b"]["c"], back["b"]["d"], back["e"]))
    assert pack(data) == pack(data)


@pytest.mark.parametrize("engine", ["rocksdb", "ldc", "pebblesdb", "universal"])
def test_stays_give_the_tree_at_any_instant(engine: str) -> None:
    """At any instant the stays that last are the files of the replayed version edits: L0 in its order, slices, frozen files."""
    events = simulate(*SMALL, f"engine={engine}", "workload.duration=3s").events
    assert events is not None
    _, tree = trees_of(events)
    edits = edits_of(events, tree)
    stays = stays_of(events, tree, edits)
    for time_s in np.linspace(0.0, 3.0, 9).tolist():
        expected, edit = tree_at(events, time_s), int(np.searchsorted(edits.time_s, time_s, "right"))
        rows = np.flatnonzero((stays["birth"] < edit) & (stays["death"] >= edit)).tolist()
        files = [row for row in rows if stays["kind"][row] == FILE]
        newest = sorted((row for row in files if stays["level"][row] == 0), key=lambda row: (-stays["rank"][row], row))
        deeper = sorted((stays["level"][row], stays["number"][row]) for row in files if stays["level"][row] > 0)

        assert [f.number for f in expected.files_of(0)] == [stays["number"][row] for row in newest]
        assert sorted((n, f.number) for n, level in expected.levels.items() if n for f in level) == deeper
        assert sorted(expected.frozen) == sorted(stays["number"][row] for row in rows if stays["kind"][row] == FROZEN)
        slices = sorted((stays["host"][row], stays["number"][row]) for row in rows if stays["kind"][row] == SLICE)
        assert slices == sorted((host, f.number) for host, parts in expected.slices.items() for f in parts)


def test_stays_and_garbage_of_blob_files() -> None:
    """At any instant the blob files that last, and the garbage in each, are those of the replayed events."""
    events = simulate(*SMALL, *BLOBS, "workload.duration=3s").events
    assert events is not None
    _, tree = trees_of(events)
    edits = edits_of(events, tree)
    stays = stays_of(events, tree, edits)
    garbage = garbage_of(events, tree, stays)
    assert len(garbage["stay"])
    for time_s in np.linspace(0.0, 3.0, 9).tolist():
        edit = int(np.searchsorted(edits.time_s, time_s, "right"))
        rows = np.flatnonzero((stays["birth"] < edit) & (stays["death"] >= edit) & (stays["kind"] == BLOB)).tolist()
        at = {row: max((float(b) for s, t, b in zip(*garbage.values(), strict=True) if s == row and t <= time_s), default=0.0)
              for row in rows}  # fmt: skip
        expected = tree_at(events, time_s).blob_files

        files = [(stays["number"][row], stays["bytes"][row]) for row in rows]
        assert files == [(file.number, file.size_bytes) for file in expected.values()]
        assert pytest.approx([f.garbage_bytes for f in expected.values()], rel=1e-6) == list(at.values())


def test_long_runs_keep_whole_trees() -> None:
    """Of too many stays, those that last over evenly spread edits are kept: after these edits the tree is whole."""
    random = np.random.default_rng(1)
    birth = np.sort(random.integers(0, 900, 2000))
    stays = {"birth": birth, "death": birth + random.integers(1, 60, 2000)}

    kept, shown = thinned(stays, 1000, most=1500)

    assert shown is not None
    assert 10 < len(shown) < 1000
    assert len(kept["birth"]) <= 1500
    for edit in shown.tolist():
        counts = [int(((s["birth"] <= edit) & (s["death"] > edit)).sum()) for s in (stays, kept)]
        assert counts[0] == counts[1]
    assert (stays, None) == thinned(stays, 1000)


def test_jobs_of_a_lane_do_not_overlap(tmp_path: Path) -> None:
    """Each job has a lane of its kind, in which no other job runs at the same time."""
    run = load_run(write_run(tmp_path / "run", jobs=300))

    lanes, names = lanes_of(run, np.arange(300))

    for lane, name in enumerate(names):
        mine = np.flatnonzero(lanes == lane)
        assert name.split()[0] == "moves" or (run.jobs["end_s"][mine[:-1]] <= run.jobs["start_s"][mine[1:]]).all()
    assert 0 <= lanes.min() <= lanes.max() < len(names)


def test_the_script_is_one_scope() -> None:
    """The joined modules contain no import or export, and no top-level name twice."""
    script = explorer_script()
    names = [line.split("(")[0].split()[-1] for line in script.splitlines() if line.startswith(("function ", "async function "))]

    assert [] == [line for line in script.splitlines() if line.startswith(("import ", "export "))]
    assert len(names) == len(set(names)) > len(MODULES)


def test_every_reason_has_words() -> None:
    """Each reason that a picker of LSMLab gives is explained."""
    given = {
        "SliceLinks", "AllLinked", "FIFOMaxSize", "FIFOTtl", "GuardFull", "L0Files", "LevelFull", "LevelL0FilesNum",
        "LevelMaxLevelSize", "UniversalSizeAmplification", "UniversalSizeRatio", "VsstGood", "VsstMixed", "VsstPoor",
        "ForcedBlobGC",
    }  # fmt: skip
    texts = "".join(path.read_text(encoding="utf-8") for path in MODELS.rglob("*.py"))

    assert set() == {name for name in given if f'"{name}"' not in texts}
    assert set() == given - REASONS.keys()
