"""The stores of lessons that RocksDB on this machine can run: one for each lesson, which a laptop writes in 20 s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_COMMON: Final = (
    "engine.version='9.8'", "engine.preset=library", "device=nvme", "workload=fillrandom", "workload.num=2M",
    "workload.value_size=400", "workload.duration=20s", "workload.seed=1", "engine.options.write_buffer_size=4MiB",
    "engine.options.target_file_size_base=4MiB", "engine.options.max_bytes_for_level_base=16MiB",
    "engine.options.rate_limiter_bytes_per_sec=20MB/s",
)  # fmt: skip
"""The rate limiter, and not the disk, limits flushes and compactions."""


@dataclass(frozen=True)
class LessonStore:
    """Store of a lesson: what it changes in the common store, and what it shows."""

    changes: tuple[str, ...]
    about: str

    @property
    def overrides(self) -> list[str]:
        """Overrides of the whole configuration."""
        return [*_COMMON, *self.changes]


STORES: Final = {
    1: LessonStore(
        ("workload.value_size=100", "workload.num=4M"),
        "RocksDB with values of 100 bytes, flushes and compactions limited to 20 MB/s. A store in place that rewrites a page of "
        "4 KiB for each value could do 20 MB/s / 4 KiB = 4,883 writes per second at this limit. How many times as many does "
        "RocksDB do, although it writes each byte more than once?",
    ),
    2: LessonStore(
        ("engine.options.write_buffer_size=16MiB",),
        "RocksDB with memtables of 16 MiB, limited to 20 MB/s: the time to flush one is the length of the pauses.",
    ),
    3: LessonStore(
        (
            "engine.options.max_bytes_for_level_multiplier=4",
            "engine.options.level_compaction_dynamic_level_bytes=false",
        ),
        "RocksDB with a multiplier of 4. In 20 s the tree is still growing, so the write amplification is below that of the "
        "lesson's full store.",
    ),
    4: LessonStore(
        ("engine.options.level0_file_num_compaction_trigger=8",),
        "RocksDB that waits for 8 files in L0 before it compacts them.",
    ),
    5: LessonStore((), "RocksDB in a closed loop, limited to 20 MB/s: memtables and L0 hold the writer back by turns."),
    6: LessonStore(
        (
            "engine.options.level0_slowdown_writes_trigger=4",
            "engine.options.level0_stop_writes_trigger=4",
            "engine.options.max_background_jobs=4",
        ),
        "vLSM does not exist in RocksDB. This is the lesson's reference, a RocksDB whose L0 holds four files and stops the "
        "writer when it is full. Each pause is as long as the compaction that empties L0: the chain behind the stop.",
    ),
    7: LessonStore(
        ("engine.options.max_background_jobs=4",),
        "SILK and ADOC do not exist in RocksDB. This is the store without either, with four background jobs. One rule of SILK "
        "holds here too: RocksDB's rate limiter serves flushes before compactions.",
    ),
    8: LessonStore(
        ("engine.options.rate_limiter_bytes_per_sec=60MB/s",),
        "LDC does not exist in RocksDB. This is the store of lesson 5 on a device that is three times as fast, a limit of "
        "60 MB/s. Compare both pages: does three times the bandwidth give three times the writes?",
    ),
}  # fmt: skip
