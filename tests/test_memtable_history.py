"""Memtable history: which flushed memtables stay in memory, and how they fill a shared buffer.

Source: (behaviour/column-families.md, Memtable history).
"""

from __future__ import annotations

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.options.options import resolve_options
from lsmlab.models.tree.memtable_history import NO_MEMORY, MemtableHistory, MemtableMemory
from lsmlab.models.version import Version
from running import SMALL, simulate

MIB = 1 << 20


def memory(mib: float) -> MemtableMemory:
    """Return a memtable whose entries use half of its blocks."""
    return MemtableMemory(mib * MIB, mib * MIB / 2)


def left(history: MemtableHistory, immutables: tuple[float, ...], active: float) -> int:
    """Trim a history and return the number of memtables that stay; sizes in MiB."""
    history.trim([memory(mib) for mib in immutables], memory(active) if active else NO_MEMORY)
    return len(history)


@pytest.mark.parametrize(
    ("flushed", "immutables", "active", "kept"),
    [
        ((), (64,), 64, 0), ((64,), (), 16, 1), ((16,), (16,), 24, 0),  # the examples of advanced_options.h
        ((16, 16), (), 8, 2), ((16, 16), (), 16, 1), ((16, 16, 16, 16), (), 0, 2), ((8, 16, 8), (), 8, 2),
    ],
)  # fmt: skip
def test_the_size_is_a_floor(flushed: tuple[float, ...], immutables: tuple[float, ...], active: float, kept: int) -> None:
    """With 32 MiB, the oldest memtable goes only if 32 MiB stay without it."""
    history = MemtableHistory(32 * MIB, 0, by_allocation=True)
    for mib in flushed:
        history.add(memory(mib))

    assert kept == left(history, immutables, active)


def test_older_releases_count_what_entries_use() -> None:
    """Before 6.28 half-empty blocks count by half, so twice as much memory stays."""
    new, old = (MemtableHistory(32 * MIB, 0, by_allocation=by_allocation) for by_allocation in (True, False))
    for history in (new, old):
        for _ in range(8):
            history.add(memory(16))
            history.trim([])

    assert (32 * MIB, 64 * MIB) == (new.allocated_bytes, old.allocated_bytes)


def test_a_number_counts_memtables() -> None:
    """max_write_buffer_number_to_maintain counts immutable and flushed memtables, not the active one; a size replaces it."""
    history = MemtableHistory(0, 3, by_allocation=True)
    for _ in range(5):
        history.add(memory(1))

    assert 2 == left(history, (1,), 64)
    assert 1 == left(history, (1, 1), 0)
    nothing = MemtableHistory(0, 0, by_allocation=True)
    nothing.add(memory(1))
    assert (0, False) == (len(nothing), nothing.keeps)


def test_minus_one_is_derived() -> None:
    """-1, which transactions set, means as much as all memtables; each option belongs to some releases."""
    given = {"write_buffer_size": 16 * MIB, "max_write_buffer_number": 4}
    size = resolve_options(Version(9, 8), "library", given | {"max_write_buffer_size_to_maintain": -1}).options
    number = resolve_options(Version(6, 4), "library", given | {"max_write_buffer_number_to_maintain": -1}).options

    assert 64 * MIB == size.max_write_buffer_size_to_maintain
    assert 4 == number.max_write_buffer_number_to_maintain
    with pytest.raises(InputError, match=r"6\.5 and later"):
        resolve_options(Version(6, 4), "library", {"max_write_buffer_size_to_maintain": 1})
    with pytest.raises(InputError, match=r"5\.7 to 10\.1"):
        resolve_options(Version(10, 2), "library", {"max_write_buffer_number_to_maintain": 1})


@pytest.mark.parametrize(
    ("given", "least_mib", "most_mib"),
    [("max_write_buffer_size_to_maintain=3MiB", 2, 5), ("max_write_buffer_number_to_maintain=4", 3, 5)],
)
def test_flushed_memtables_count_as_memory(given: str, least_mib: float, most_mib: float) -> None:
    """The summary has the memory of the history; it changes neither flushes nor stalls of a store without a shared buffer."""
    plain, kept = simulate(*SMALL), simulate(*SMALL, f"engine.options.{given}")
    before, after = plain.summary["memory"], kept.summary["memory"]

    assert "memtable_history_bytes" not in before
    assert least_mib * MIB < after["memtable_history_bytes"] < most_mib * MIB
    assert after["total_bytes"] == before["total_bytes"] + after["memtable_history_bytes"]
    assert {k: v.tolist() for k, v in plain.jobs.items()} == {k: v.tolist() for k, v in kept.jobs.items()}


NAMES = [f"cf{number}" for number in range(1, 8)]
EIGHT = (
    "device=nvme", "engine.version='9.8'", "workload=fillrandom", "workload.num=262144", "workload.value_size=1024",
    "engine.options.write_buffer_size=16MiB", "engine.options.max_write_buffer_number=16",
    "engine.options.db_write_buffer_size=32MiB", "engine.options.atomic_flush=true", "save.events=false",
    "+engine.families={" + ",".join(f"{name}: {{}}" for name in NAMES) + "}",
    "+workload.families={" + ",".join(f"{name}: {{writes: 1}}" for name in ("default", *NAMES)) + "}",
)  # fmt: skip
"""The store of HarperFast/rocksdb-js, pull request 788: 256 MiB of 1 KiB values in 8 families below a buffer of 32 MiB."""


def flush_count(*overrides: str) -> float:
    """Return the number of flushes that `EIGHT` needs for all entries, those that are in memory at the end included."""
    jobs = simulate(*EIGHT, *overrides).jobs
    return 262_144 / float(jobs["entries_in"][jobs["kind"] == "flush"].mean())


def test_a_history_as_large_as_the_buffer_halves_it() -> None:
    """The public benchmark, at full speed, counts 256 flushes. With a history a slower writer has no fewer."""
    history, slow = "engine.options.max_write_buffer_size_to_maintain=-1", "workload.benchmark_write_rate_limit=100MB/s"

    assert flush_count(history) == pytest.approx(256, rel=0.05)
    assert flush_count(history, slow) == pytest.approx(256, rel=0.05)
    assert flush_count(slow) < 0.5 * 256


def test_a_history_larger_than_the_buffer_stops_writers_for_good() -> None:
    """With allow_stall nothing frees the buffer: after the stop no operation is served (harper, issue 2490)."""
    own = ("workload.duration=4s", "engine.options.max_write_buffer_size_to_maintain=-1", "engine.options.atomic_flush=false")
    shared = ("engine.options.db_write_buffer_size=0", "shared.write_buffer_manager=64MiB", "shared.allow_stall=true")
    result = simulate(*EIGHT, *own, *shared)
    ended = result.series["write_ops"].nonzero()[0].max()

    assert ended < 2
    assert result.summary["stall_seconds"]["write_buffer_manager_limit"] > 2.0
    assert "write_buffer_manager" == result.summary["bottleneck"]["resource"]
