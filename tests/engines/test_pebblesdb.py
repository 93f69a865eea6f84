"""PebblesDB's mechanism: guards, appending instead of rewriting, and its costs for reads and memory.

Source: (background/pebblesdb.md, What it changes).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from lsmlab.models.policies.pebblesdb.guards import Guards, hash_fractions
from lsmlab.models.policies.pebblesdb.picker import PebblesPicker
from lsmlab.models.tree.sst import bloom_filter_bytes
from lsmlab.sim.phase import Phase
from lsmlab.sim.results.results import Result
from running import SLOW_JOBS, phase_of, simulate

pytestmark = pytest.mark.xdist_group("pebblesdb")  # one process computes the runs that these tests share

LOAD = (
    "workload=filluniquerandom", "workload.num=1M", "workload.value_size=1000", "device=samsung_970_pro",
    "engine.options.write_buffer_size=1MiB", "engine.options.bloom_bits=10", "keys.samples_per_file=256",
)  # fmt: skip
"""A load of 1 GB; memtables and files have a quarter of PebblesDB's sizes, and guards are 16 times as dense."""
PEBBLES = (
    "engine=pebblesdb", "engine.options.target_file_size_base=16MiB", "engine.picker.top_level_bits=23",
)  # fmt: skip
LEVELED = (
    "engine=rocksdb", "engine.options.target_file_size_base=512KiB", "engine.options.max_bytes_for_level_base=2.5MiB",
    "engine.options.level_compaction_dynamic_level_bytes=false", "engine.options.max_background_jobs=2",
)  # fmt: skip
"""Leveled compaction with a quarter of LevelDB's sizes (PebblesDB's origin), also with one compaction thread."""
SLOW, FAST = "workload.benchmark_write_rate_limit=10MB/s", "workload.benchmark_write_rate_limit=20MB/s"
"""Write rates that both engines sustain, and that leveled compaction does not sustain."""


def loaded(*overrides: str) -> Result:
    """Return a load, simulated once per process."""
    return simulate(*LOAD, *SLOW_JOBS, *overrides)


def settled() -> Phase:
    """Return a store after its load, when no job is due."""
    phase = phase_of(*LOAD, *PEBBLES, SLOW, "workload.num=500k", seed=1)
    phase.run()
    phase.run_until_idle()
    return phase


def test_each_level_has_four_times_the_guards_of_the_level_above() -> None:
    """A share of 2^-(27 - 2i) of the keys are guards of level i, and guards of one level are guards of deeper ones."""
    fractions = hash_fractions(np.arange(1 << 22, dtype=np.int64))
    guards = Guards(27, 2)
    found = [np.flatnonzero(fractions < guards.probability(level, 1.0)) for level in range(7)]

    assert len(found[6]) == pytest.approx(2**22 / 2**15, rel=0.3)
    assert all(set(a.tolist()) <= set(b.tolist()) for a, b in pairwise(found))
    assert guards.probability(6, 1.0) / guards.probability(5, 1.0) == pytest.approx(4.0)


def test_a_sampled_key_is_a_guard_if_one_of_its_keys_is() -> None:
    """A code that represents 64 keys is a guard with the probability that one of the 64 is."""
    fractions = hash_fractions(np.arange(1 << 18, dtype=np.int64) << 7)
    guards = Guards(27, 2)

    assert int((fractions < guards.probability(6, 64.0)).sum()) == pytest.approx(2**18 * 64 / 2**15, rel=0.15)


def test_a_compaction_appends() -> None:
    """Each byte is written about once per level; only guards inserted since cause rewrites, mostly in deep levels."""
    levels = {row["level"]: row for row in loaded(*PEBBLES, SLOW).summary["levels"]}
    moved = [levels[i] for i in range(1, 6)]

    assert all(0.99 < row["w_amp"] < 2.0 for row in moved)
    assert all(row["w_amp"] < 1.1 for row in moved[:3])


def test_pebblesdb_writes_less_than_leveled_compaction() -> None:
    """At a rate that both sustain, PebblesDB writes less; at twice that rate, leveled compaction stalls writes."""
    pebbles, leveled = (loaded(*engine, SLOW, "workload.num=500k").summary for engine in (PEBBLES, LEVELED))
    assert pebbles["write_amplification"] < 0.8 * leveled["write_amplification"]

    pebbles, leveled = (loaded(*engine, FAST, "workload.num=500k").summary for engine in (PEBBLES, LEVELED))
    assert pebbles["stall_fraction"] < 0.01
    assert leveled["stall_fraction"] > 0.05


def test_after_the_last_job_no_guard_is_due() -> None:
    """Files end at guards, and no guard has more than two files."""
    store = settled().families[0]
    picker = store.latest_options.picker
    assert isinstance(picker, PebblesPicker)

    for level in range(1, 7):
        at = picker.guards.levels(store.tree)[level]
        assert at.file_count.max(initial=0) <= 2
        if level == 6:
            inside = [picker.guards.keys(store.tree, 6).searchsorted((f.lo, f.hi), side="right") for f in at.files]
            assert sum(int(a != b) for a, b in inside) <= 0.1 * len(at.files)
    assert len(picker.guards.keys(store.tree, 6)) == pytest.approx(500_000 / 2**11, rel=0.4)


def test_jobs_of_the_last_level_are_the_longest() -> None:
    """One job takes all due guards of a level, so jobs of deep levels occupy the only compaction thread longest."""
    jobs = loaded(*PEBBLES, SLOW).jobs
    is_compaction = np.asarray(jobs["kind"]) == "compaction"
    level, length = jobs["output_level"][is_compaction], (jobs["end_s"] - jobs["start_s"])[is_compaction]

    assert length[level == 6].max() > 5 * np.median(length[level < 6])
    running = np.lexsort((jobs["end_s"][is_compaction], jobs["start_s"][is_compaction]))
    start, end = jobs["start_s"][is_compaction][running], jobs["end_s"][is_compaction][running]
    assert (start[1:] >= end[:-1]).all(), "two compactions at the same time"


def test_memory_grows_with_the_files() -> None:
    """Filters and indexes of all files stay in memory: 10 bits per entry and an index entry per block."""
    result = loaded(*PEBBLES, SLOW)
    memory, entries = result.summary["memory"], result.summary["live_entries"]

    assert memory["filter_bytes"] == pytest.approx(bloom_filter_bytes(entries, 10), rel=0.05)
    assert 15 * entries / 4 < memory["index_bytes"] < 40 * entries / 3
    assert memory["metadata_bytes"] == pytest.approx(300 * 1e6 * 4 / 3 / 2**11, rel=0.4)
    assert memory["memtable_bytes"] == 2 * 2**20
    assert memory["total_bytes"] == sum(v for k, v in memory.items() if k != "total_bytes")


def test_seeks_compact_all_levels_into_the_last() -> None:
    """While clients only seek, long jobs compact whole levels down to the last, and scans merge fewer runs."""
    seeks = ("workload=seekrandom", "workload.num=500k", "workload.duration=20s", "prefill=filluniquerandom",
             "prefill.num=500k", "prefill.value_size=1000")  # fmt: skip
    driven, left_alone = (
        simulate(*LOAD, *PEBBLES, *seeks, f"engine/tuner={tuner}") for tuner in ("pebblesdb_seeks", "none")
    )
    reasons = np.asarray(driven.jobs["reason"])

    assert "Seeks" in reasons
    assert 0 == left_alone.summary["compaction_count"]
    levels, before = driven.summary["files_per_level"], left_alone.summary["files_per_level"]
    assert 0 == sum(levels[:5]) < sum(before[:5])
    assert driven.summary["read_ops_per_s"] > left_alone.summary["read_ops_per_s"]
