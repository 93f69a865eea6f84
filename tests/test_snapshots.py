"""Open snapshots: the versions that flushes and compactions keep for them, and what follows their release.

Source: (behaviour/compaction-jobs.md, Snapshots).
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.rocksdb.due_files import BOTTOMMOST, DueFiles
from lsmlab.models.tree.files import SortedFile, Versions
from lsmlab.models.tree.tree import Tree
from lsmlab.models.tree.versions import newest_versions, note_versions, split_newest, visible_versions, without_dead
from lsmlab.models.version import Version
from lsmlab.sim.results.results import Result
from running import configuration, run, simulate

Entry = tuple[int, float, bool]
"""Key, time, and whether it is a tombstone."""


def versions(entries: list[Entry]) -> Versions:
    """Return entries as versions: keys ascending, of equal keys the newest first."""
    ordered = sorted(entries, key=lambda entry: (entry[0], -entry[1]))
    keys, times, deleted = zip(*ordered, strict=True) if ordered else ((), (), ())
    return Versions(np.array(keys, np.int64), np.array(times, np.float64), np.array(deleted, np.bool_))


def entries_of(found: Versions) -> list[Entry]:
    """Return the entries of versions."""
    return list(zip(*(part.tolist() for part in found), strict=True))


def one_by_one(entries: list[Entry], snapshots: list[float], held: set[int], bottommost: bool) -> list[Entry]:
    """Merge as RocksDB's CompactionIterator does: entry by entry, newest first, with the earliest snapshot that sees each."""
    kept: list[Entry] = []
    for key, group in groupby(sorted(entries, key=lambda e: (e[0], -e[1])), key=lambda e: e[0]):
        own, seen_by = list(group), set()
        for i, entry in enumerate(own):
            earliest = min((s for s in snapshots if s >= entry[1]), default=math.inf)
            if earliest in seen_by:
                continue  # hidden by a newer entry for all snapshots that see it
            seen_by.add(earliest)
            older = [e for e in own[i + 1 :] if min((s for s in snapshots if s >= e[1]), default=math.inf) != earliest]
            in_oldest = entry[1] <= min(snapshots, default=math.inf)
            if entry[2] and key not in held and (in_oldest or (bottommost and not older)):
                continue
            kept.append(entry)
    return kept


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 30).map(float), st.booleans()), max_size=40, unique_by=lambda e: e[:2]),
    st.lists(st.integers(0, 30).map(float), max_size=4, unique=True).map(sorted), st.sets(st.integers(0, 6)), st.booleans(),
)  # fmt: skip
def test_a_merge_keeps_what_single_entries_would(
    entries: list[Entry], snapshots: list[float], held: set[int], bottommost: bool
) -> None:
    """However the entries are divided into runs by time, the versions that stay are those of a merge entry by entry."""
    held = set() if bottommost else held
    runs = [versions([e for e in entries if low <= e[1] < low + 10]) for low in (30, 20, 10, 0)]
    merged = visible_versions(runs, snapshots)
    found = without_dead(merged, lambda keys: np.isin(keys, list(held)), snapshots, bottommost=bottommost)

    assert entries_of(found) == one_by_one(entries, snapshots, held, bottommost)
    newest, older = split_newest(found)
    assert len(np.unique(newest.keys)) == len(newest.keys)
    assert entries_of(found) == entries_of(visible_versions([newest] if older is None else [newest, older], snapshots))


def test_files_get_their_part_of_the_versions() -> None:
    """Each output has the old versions of its own keys, and the time of its newest entry with a sequence number."""
    found = versions([(1, 9.0, False), (1, 2.0, False), (5, 3.0, False), (7, 4.0, False), (7, 1.0, True)])
    newest, older = split_newest(found)
    files = [SortedFile(1, 1, 5, 10, 2.0, np.array([1, 5])), SortedFile(2, 7, 7, 10, 1.0, np.array([7]))]
    note_versions(files, newest, older, sequence_from_s=5.0)

    assert [[(1, 2.0, False)], [(7, 1.0, True)]] == [entries_of(f.older) for f in files if f.older is not None]
    assert [9.0, -math.inf] == [f.newest_s for f in files]
    assert [[9.0, 3.0], [4.0]] == [f.times.tolist() for f in files if f.times is not None]
    assert [4.0] == newest_versions(np.array([7]), None, 4.0).times.tolist()


def test_a_release_marks_bottommost_files() -> None:
    """Free files with nothing below are due once the oldest snapshot sees all that they hold; the rule has changed twice."""
    tree = Tree(num_levels=4)
    deep, above = (SortedFile(n, lo, lo + 9, 100, 10.0, created_s=20.0) for n, lo in ((1, 0), (2, 50)))
    hidden, later, zeroed = (SortedFile(n, lo, lo + 9, 100, 10.0, created_s=20.0) for n, lo in ((3, 0), (4, 70), (5, 90)))
    for file in (deep, above, hidden):
        file.newest_s = 5.0
    later.newest_s = 15.0
    tree.install(added=[(2, [above, later]), (3, [deep, zeroed]), (1, [hidden])])
    deep.deletions = 3.0

    def due(version: Version, now_s: float = 20.0, **options: Any) -> list[int]:
        rules = DueFiles(replace(RocksDbOptions(), ttl=0, **options), version)
        return [one.file.number for one in rules.files(tree, now_s) if one.reason == BOTTOMMOST and one.output == one.level]

    assert [] == due(Version(9, 8))
    tree.oldest_snapshot_s = 10.0
    assert [2, 1] == due(Version(9, 8))
    assert [1] == due(Version(6, 22))
    assert [] == due(Version(5, 8))
    assert [] == due(Version(9, 8), bottommost_file_compaction_delay=30)
    assert [2, 1] == due(Version(9, 8), 60.0, bottommost_file_compaction_delay=30)
    tree.mark(3, [deep], True)
    assert [2] == due(Version(9, 8))


STORE = (
    "engine.version='9.8'", "engine.options.write_buffer_size=1MiB", "engine.options.target_file_size_base=1MiB",
    "engine.options.max_bytes_for_level_base=4MiB", "device=nvme", "workload=constant", "workload.read=0", "workload.update=1",
    "workload.num=100000", "workload.preload=0", "workload.value_size=100", "workload.rate=20000", "workload.duration=40s",
    "save.events=false",
)  # fmt: skip
"""Each key is written eight times on average."""


def held(*snapshots: str) -> Result:
    """Simulate `STORE` with these snapshots."""
    return simulate(*STORE, f"conditions.snapshots=[{','.join(snapshots)}]")


def test_a_snapshot_without_overwrites_after_it_changes_nothing() -> None:
    """A snapshot that is taken when the run ends has no versions to keep: jobs are those of a run without one."""
    plain, late = simulate(*STORE), held("{at: 39.9999s}")

    for name in ("kind", "entries_in", "entries_out", "write_bytes", "end_s"):
        assert plain.jobs[name].tolist() == late.jobs[name].tolist(), name


def test_a_snapshot_keeps_one_version_of_each_key() -> None:
    """After all keys were overwritten, files hold each key that existed at the snapshot a second time."""
    plain, kept = simulate(*STORE).summary, held("{at: 20s}").summary
    expected = 100_000 * (1.0 - math.exp(-4.0)) * (1.0 - math.exp(-4.0))  # written by 20 s, and again by 40 s

    assert kept["conditions"]["old_entries"] == pytest.approx(expected, rel=0.06)
    assert kept["space_amplification"] > plain["space_amplification"] + 0.6
    assert kept["compaction_write_bytes"] > 1.1 * plain["compaction_write_bytes"]


def test_the_release_compacts_the_last_level() -> None:
    """What a snapshot kept goes after its release: BottommostFiles compactions, and files as small as without it."""
    plain, kept, released = simulate(*STORE).summary, held("{at: 10s}").summary, held("{at: 10s, until: 25s}").summary

    assert "BottommostFiles" not in plain["job_reasons"] | kept["job_reasons"]
    assert released["job_reasons"]["BottommostFiles"] > 3
    assert 0.0 == released["conditions"]["old_entries"]
    assert released["live_bytes"] == pytest.approx(plain["live_bytes"], rel=0.15)


def test_snapshots_that_are_renewed_rewrite_the_last_level() -> None:
    """A snapshot that is taken anew every 2 s keeps few versions and marks the last level again and again; a delay spares it."""
    renewed = held("{at: 0s, renew: 2s}").summary
    delayed = simulate(
        *STORE, "conditions.snapshots=[{at: 0s, renew: 2s}]", "engine.options.bottommost_file_compaction_delay=3600"
    ).summary

    assert renewed["conditions"]["old_entries"] < 0.4 * 100_000
    assert renewed["job_reasons"]["BottommostFiles"] > 30
    assert "BottommostFiles" not in delayed["job_reasons"]
    assert delayed["write_amplification"] < renewed["write_amplification"]


def test_deletes_stay_for_a_snapshot() -> None:
    """Tombstones newer than the snapshot stay in the last level beside what they delete."""
    load = (*STORE, "workload.update=0.5", "workload.delete=0.5")
    plain = run(configuration(*load)).summary
    kept = run(configuration(*load, "conditions.snapshots=[{at: 10s}]")).summary

    assert kept["live_entries"] > plain["live_entries"] + 0.5 * kept["conditions"]["old_entries"]


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        (("engine.options.enable_blob_files=true",), "enable_blob_files"), (("engine=leveldb",), "conditions.snapshots"),
        (("engine=ldc",), "conditions.snapshots"), (("engine=triad",), "conditions.snapshots"),
        (("conditions.snapshots=[{at: 5s, until: 5s}]",), "until"), (("conditions.snapshots=[{until: 5s}]",), "at"),
        (("workload=phases", "workload.phases=[fillrandom,{deleterange:{begin: 0,end: 0.5}}]"), "deleterange"),
    ],
)  # fmt: skip
def test_what_is_not_modelled_is_refused(overrides: tuple[str, ...], key: str) -> None:
    """Stores that keep old versions in another way raise an error with the key."""
    with pytest.raises(InputError) as caught:
        run(configuration("workload.duration=1s", "conditions.snapshots=[{at: 1s}]", *overrides))
    assert key in str(caught.value)
