"""TRIAD's three techniques: the effect of each on the store, and that no entry is lost.

Source: (background/triad.md, What it changes).
"""

from __future__ import annotations

import numpy as np
import pytest
from engine_goldens import engine_of
from lsmlab.models.policies.triad import Triad, overlap_ratio
from lsmlab.models.tree.files import SortedFile
from lsmlab.sim.results.results import Result
from running import phase_of, simulate
from shadow import shadowed

pytestmark = pytest.mark.xdist_group("triad")  # one process computes the runs that these tests share

COMMON = (
    "engine=triad", "device=samsung_970_pro", "device.write_cap=20MiB/s", "workload=constant", "workload.rate=3000",
    "workload.read=0.2", "workload.update=0.8", "workload.num=100000", "workload.value_size=1000",
    "workload.duration=25s", "engine.options.write_buffer_size=1MiB", "engine.options.target_file_size_base=1MiB",
    "engine.options.max_bytes_for_level_base=4MiB", "engine.options.max_bytes_for_level_multiplier=4",
    "engine.options.max_background_jobs=3", "engine.options.use_direct_reads=true",
    "engine.options.use_direct_io_for_flush_and_compaction=true",
)  # fmt: skip
SKEWED = ("workload.distribution=scrambled_zipfian",)
HOTSPOT = ("workload.distribution=hotspot", "workload.hot_keys=0.002", "workload.hot_operations=0.8")
OFF = (
    "engine.picker.hot_keys=false", "engine.picker.deferred_l0=false", "engine.picker.wal_as_l0=false",
)  # fmt: skip
"""RocksDB without any of the three techniques."""


def only(technique: str) -> tuple[str, ...]:
    """Return overrides that leave one technique on."""
    return tuple(o for o in OFF if technique not in o)


def result(*overrides: str) -> Result:
    """Return a run of the common store."""
    return simulate(*COMMON, *overrides)


def l0_compactions(of: Result) -> np.ndarray:
    """Return a mask of the compactions from L0 into a level below."""
    return (np.asarray(of.jobs["kind"]) == "compaction") & (of.jobs["start_level"] == 0) & (of.jobs["output_level"] > 0)


def file(*keys: int) -> SortedFile:
    """Return an L0 file of single keys."""
    return SortedFile(1, min(keys), max(keys), 100, float(len(keys)), np.array(keys, dtype=np.int64))


def test_the_overlap_ratio_is_the_share_of_duplicates() -> None:
    """Three distinct keys in two files of two give 0.25; files without common keys give 0."""
    assert overlap_ratio([file(2, 4), file(4, 6)]) == pytest.approx(0.25)
    assert overlap_ratio([file(2, 4), file(6, 8)]) == 0.0
    assert overlap_ratio([]) == 0.0


def test_hot_keys_are_the_most_updated_up_to_the_cap() -> None:
    """With a mean of 3.25, keys with 4 and 8 updates are hot; a cap keeps the hottest; equal counts make no key hot."""
    picker_rules = Triad(least_cold=1, most_hot=0.5, most_hot_of="keys")
    updates, ones = np.array([1.0, 8.0, 4.0, 0.5]), np.ones(4)

    assert [False, True, True, False] == _hot(picker_rules, updates, ones, 13.0)
    assert [False, True, False, False] == _hot(Triad(least_cold=1, most_hot=0.25, most_hot_of="keys"), updates, ones, 13.0)
    assert [False] * 4 == _hot(picker_rules, ones, ones, 4.0)
    assert [True] * 4 == _hot(Triad(least_cold=100), updates, ones, 13.0)  # fewer than 100 cold entries: no flush


def _hot(rules: Triad, updates: np.ndarray, keys: np.ndarray, entries: float) -> list[bool]:
    picker = engine_of("engine=triad").picker
    picker.triad = rules  # type: ignore[attr-defined]
    return [bool(mark) for mark in picker.hot(updates, keys, entries)]  # type: ignore[attr-defined]


def test_hot_keys_in_memory_save_flushes_under_skew_only() -> None:
    """200 keys get 80 % of the writes: of 980 in a memtable about 400 are distinct and about 200 of these cold.

    Plain flushes write 0.4 entries per write, flushes of cold keys 0.2. With uniform keys there is no effect.
    """
    plain, hot = result(*HOTSPOT, *OFF).summary, result(*HOTSPOT, *only("hot_keys")).summary
    uniform, same = result(*OFF).summary, result(*only("hot_keys")).summary

    assert 0.4 < hot["flush_bytes"] / plain["flush_bytes"] < 0.7
    assert hot["user_bytes_written"] == pytest.approx(plain["user_bytes_written"], rel=0.02)
    assert same["flush_bytes"] == pytest.approx(uniform["flush_bytes"], rel=0.02)


def test_deferred_l0_waits_for_more_files_if_keys_differ() -> None:
    """With uniform keys, an L0 compaction takes at least seven files (n_max + 1); without the rule some take four."""
    deferred, plain = result(*only("deferred_l0")), result(*OFF)

    assert deferred.jobs["input_files"][l0_compactions(deferred)].min() >= 7
    assert plain.jobs["input_files"][l0_compactions(plain)].min() == 4


def test_l0_with_many_duplicates_does_not_wait() -> None:
    """Keys of a hotspot smaller than a memtable are in every file, so four files are compacted."""
    hotspot = ("workload.distribution=hotspot", "workload.hot_keys=0.005", "workload.hot_operations=0.95")
    deferred = result(*hotspot, *only("deferred_l0"))

    assert deferred.jobs["input_files"][l0_compactions(deferred)].min() < 7


def test_the_wal_as_l0_defers_writing_values_to_compactions() -> None:
    """Flushes write only keys and offsets, below 6 % of the bytes; L0 compactions read each value from the WAL.

    Without a cap, as waiting and reading would overlap; a read of the device takes 80 us.
    """
    free = "device.write_cap=null"
    in_wal, plain = result(free, *only("wal_as_l0")), result(free, *OFF)
    per_entry = in_wal.summary["flush_bytes"] / in_wal.jobs["entries_out"][np.asarray(in_wal.jobs["kind"]) == "flush"].sum()

    assert 20.0 < per_entry < 60.0
    assert in_wal.summary["flush_bytes"] < 0.06 * plain.summary["flush_bytes"]
    assert in_wal.summary["compaction_write_bytes"] > 0.5 * plain.summary["compaction_write_bytes"]
    flushed = in_wal.jobs["entries_out"][np.asarray(in_wal.jobs["kind"]) == "flush"].sum()
    assert _l0_merging_s(in_wal) - _l0_merging_s(plain) == pytest.approx(80e-6 * flushed, rel=0.5)


def _l0_merging_s(of: Result) -> float:
    return float((of.jobs["end_s"] - of.jobs["start_s"])[l0_compactions(of)].sum())


@pytest.mark.parametrize("technique", ["hot_keys", "deferred_l0", "wal_as_l0"])
def test_the_newest_version_is_found(technique: str) -> None:
    """With exact keys under skew, every written key is found in its newest version."""
    exact = ("workload.num=20000", "workload.duration=15s", "keys=exact")
    phase = phase_of(*COMMON, *SKEWED, *only(technique), *exact, seed=7)
    phase.preload()
    store = phase.families[0]
    with shadowed(store) as shadow:
        phase.run()
    keys = sorted(shadow.latest)[::5]
    wrong = {key: (shadow.find(store, key), shadow.latest[key]) for key in keys}

    assert len(keys) > 1000
    assert {} == {key: pair for key, pair in wrong.items() if pair[0] != pair[1]}
