"""Words of the explorer: why a compaction was picked, and what an engine's tree shows."""

from __future__ import annotations

from typing import Final

REASONS: Final = {
    "Write Buffer Full": "a memtable was full",
    "WAL Full": "all WAL files together had reached max_total_wal_size, and the oldest has data of this family",
    "Write Buffer Manager": "all memtables together had reached db_write_buffer_size",
    "LevelL0FilesNum": "level 0 had reached its number of files",
    "LevelMaxLevelSize": "the level was above its target size",
    "LevelFull": "the level had as many sorted runs as it may have",
    "LevelGrows": "the last level was above its size, so the tree gets another level",
    "UniversalSizeAmplification": "the newer sorted runs were too large beside the oldest one (space amplification)",
    "UniversalSizeRatio": "neighbouring sorted runs had similar sizes",
    "UniversalSortedRunNum": "there were too many sorted runs",
    "PeriodicCompaction": "files were older than periodic_compaction_seconds",
    "FilesMarkedForCompaction": "a collector had marked the file, because many of its entries are tombstones",
    "BottommostFiles": "a snapshot was released, so what it alone kept in files of the last data can go",
    "Ttl": "the data of the file was older than ttl",
    "ForcedBlobGC": "old blob files had as much garbage as blob_garbage_collection_force_threshold, and the file refers to the "
    "oldest one",
    "FIFOMaxSize": "all files together were above max_table_files_size, so the oldest is deleted",
    "FIFOTtl": "the file was older than ttl",
    "FIFOReduceNumFiles": "small files of level 0 are merged",
    "SliceLinks": "a file had as many linked slices as the SliceLink threshold",
    "AllLinked": "all files of the level below had linked slices",
    "L0Files": "level 0 had reached its number of files",
    "GuardFull": "a guard had too many files, so they are split into the guards of the next level",
    "GuardFullHorizontal": "a guard of the last level had too many files, so they are merged in place",
    "VsstGood": "a vSST of L1 that overlaps few files of L2",
    "VsstMixed": "vSSTs of L1 of which some overlap few files of L2",
    "VsstPoor": "vSSTs of L1 that overlap many files of L2, because there were no better ones",
    "io_error": "the job failed with an I/O error",
    "no_space": "the job failed because the device was full",
}
"""Reason of a job (jobs.parquet) in words."""

ENGINES: Final = {
    "ldc": "LDC freezes a file instead of merging it: a frozen file has no level, and its slices (narrow hatched strips) are "
    "linked to the files below until these are compacted.",
    "pebblesdb": "PebblesDB's levels are split by guards. Within a guard the files of a level may overlap: they are drawn one "
    "above the other, the newest on top.",
    "vlsm": "vSSTs are the files of L1: their sizes vary, so that each overlaps few files of L2.",
    "slsm": "vSSTs are the files of L1: their sizes vary, so that each overlaps few files of L2.",
    "universal": "Universal compaction merges sorted runs: each file of L0 is a run, and each deeper level is one run.",
    "fifo": "FIFO keeps all files in L0 and deletes the oldest ones; nothing is merged.",
    "lazy_leveling": "Lazy leveling keeps several sorted runs in each level but the last: overlapping files are drawn one above "
    "the other, the newest on top.",
    "triad": "TRIAD keeps hot keys in memory and merges L0 only when its files overlap enough.",
}
"""What is special in the picture of an engine's tree, by the beginning of the engine's name."""


def engine_note(engine: str) -> str:
    """Return the sentence on an engine's tree; "" for leveled compaction."""
    return next((text for name, text in ENGINES.items() if engine.startswith(name)), "")
