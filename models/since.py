"""First releases of RocksDB's rules: every place where the model depends on the version compares with one of these.

`version >= since.DRAIN` holds from that release on. (behaviour/versions.md, Rules) has one line per name: the rule, RocksDB's
file and function, and the function of the model. tests/test_versions.py holds this module and that table together. Defaults
and option names by release are in models/options/defaults.py.
"""

from __future__ import annotations

from typing import Final

from lsmlab.models.version import Version

# ---- memtables, writes, stalls ----

ARENA_ALIGNS_TO_16: Final = Version(5, 9)
ARENA_BLOCK_LIMIT: Final = Version(6, 21)
MEMTABLE_SLOWDOWN_NEEDS_MERGE: Final = Version(6, 19)
DELAY_BY_NEXT_REFILL: Final = Version(6, 19)
PRESSURE_BY_BOTTOMMOST: Final = Version(8, 10)
PRESSURE_AT_AN_EIGHTH: Final = Version(8, 11)
PRESSURE_FLOOR: Final = Version(9, 8)
MANAGER_MAY_STALL: Final = Version(6, 21)
MANAGER_LEAVES_OUT_FLUSHES: Final = Version(7, 6)
HISTORY_BY_ALLOCATION: Final = Version(6, 28)

# ---- jobs, rate limiter, errors ----

USER_PRIORITY_IN_STALLS: Final = Version(7, 3)
PARTIAL_GRANTS: Final = Version(8, 3)
JOBS_KEEP_CHANGED_OPTIONS: Final = Version(9, 11)
RETRIES_IO_ERRORS: Final = Version(6, 12)
WAITS_FOR_SPACE: Final = Version(5, 17)

# ---- levelled compaction ----

FILE_SIZE_FROM_BASE_LEVEL: Final = Version(5, 14)
TARGETS_FIT_L0: Final = Version(5, 18)
L0_SCORE_FITS_BASE: Final = Version(6, 13)
SCORES_BY_ARRIVALS: Final = Version(7, 5)
DRAIN: Final = Version(8, 2)
MOVES_AT_OPEN: Final = Version(8, 2)
RANGE_CHECK_PER_FILE: Final = Version(5, 8)
INTRA_L0_LIMIT: Final = Version(6, 3)
RATIO_BY_COMPENSATED_SIZE: Final = Version(6, 0)
TIES_BY_KEY: Final = Version(7, 5)
L0_MOVE: Final = Version(7, 5)
MOVE_OF_SEVERAL_FILES: Final = Version(7, 5)
MOVE_TO_BOTH_SIDES: Final = Version(8, 2)
MOVE_WITH_UNIVERSAL_OPTION: Final = Version(7, 0)
MOVE_OF_ONE_L0_FILE: Final = Version(8, 2)
GROWTH_OPTION: Final = Version(7, 8)
GROWTH_WITHOUT_LIMIT: Final = Version(9, 0)
GROWTH_LIMIT_DOUBLED: Final = Version(9, 2)
INTRA_L0_BY_SIZE: Final = Version(9, 0)
ROUND_ROBIN: Final = Version(7, 5)
ROUND_ROBIN_EXPANSION: Final = Version(7, 6)

# ---- manual compaction, ages of files ----

FORCE_OPTIMIZED: Final = Version(6, 2)
MANUAL_REWRITES_L0: Final = Version(6, 14)
MANUAL_COUNTS_OUTPUT: Final = Version(6, 21)
MANUAL_WITH_OTHERS: Final = Version(7, 6)
COMPACT_RANGE_AWAITS_STALLS: Final = Version(5, 12)
FLUSH_AWAITS_STALLS: Final = Version(5, 16)
INGESTION_SYNCS_SEQNO: Final = Version(6, 4)
INGESTION_WITHOUT_SEQNO: Final = Version(8, 0)
INGESTION_ABOVE_RUNNING: Final = Version(7, 10)
INGESTION_OF_UNIVERSAL_TO_EMPTY: Final = Version(9, 8)
LEVEL_TTL: Final = Version(5, 14)
LEVEL_PERIODIC: Final = Version(6, 2)
AGE_OF_OLDEST_INPUT: Final = Version(6, 6)
BOOSTS_OLD_FILES: Final = Version(6, 27)
AGE_BY_RANGE: Final = Version(6, 27)
PERIODIC_TO_NEXT_LEVEL: Final = Version(8, 11)
BOTTOMMOST_FILES: Final = Version(5, 9)
BOTTOMMOST_WITHOUT_DELETIONS: Final = Version(6, 23)
RANGES_COMPENSATED: Final = Version(7, 10)
TIMED_TRIGGER: Final = Version(10, 4)
TRIGGER_BY_AGES: Final = Version(11, 1)

# ---- compaction jobs ----

GRANDPARENTS_OF_DEEPER_LEVELS: Final = Version(6, 26)
OVERLAP_TEST_AT_BOUNDARIES: Final = Version(6, 26)
ALIGNED_CUTS: Final = Version(7, 8)
ALWAYS_ALIGNED_CUTS: Final = Version(9, 0)
PARTS_WITHOUT_OUTPUT_FILES: Final = Version(7, 6)
PARTS_BY_ANCHORS: Final = Version(7, 6)
ROUND_ROBIN_PARTS: Final = Version(7, 6)
TWO_PARTS: Final = Version(8, 4)

# ---- places of files ----

PATH_BY_LEVEL_TARGETS: Final = Version(5, 9)
LAST_LEVEL_TEMPERATURE: Final = Version(7, 6)
YOUNG_RUNS_APART: Final = Version(7, 6)
YOUNG_DATA_MOVE_UP: Final = Version(7, 8)

# ---- blob files ----

BLOB_GARBAGE_COUNTED: Final = Version(6, 23)
BLOB_FORCE_BY_ELIGIBLE: Final = Version(9, 7)

# ---- universal and FIFO compaction ----

UNIVERSAL_PERIODIC: Final = Version(6, 6)
UNIVERSAL_MARKED: Final = Version(5, 15)
LEAVES_OUT_NEWEST: Final = Version(8, 7)
MAX_READ_AMP: Final = Version(9, 4)
FIFO_MERGES_BELOW_1_1: Final = Version(5, 14)
FIFO_TTL_IS_TTL: Final = Version(6, 0)
FIFO_LEVELS: Final = Version(7, 8)
FIFO_DRAINS_ONLY_EXCESS: Final = Version(7, 10)
FIFO_LATER_SCORES_BELOW_ONE: Final = Version(8, 3)
FIFO_COOLS_ONE_FILE: Final = Version(9, 7)
FIFO_COOLS_BY_NEWEST_KEY: Final = Version(9, 9)
FIFO_TTL_APART_FROM_PERIODIC: Final = Version(8, 5)
AUTOMATIC_AGES: Final = Version(6, 6)

# ---- db_bench ----

DB_BENCH_FORCES: Final = Version(5, 10)
THREADS_FROM_ONE: Final = Version(7, 2)
DB_BENCH_KEEPS_TTL: Final = Version(6, 27)
DB_BENCH_READS_AHEAD: Final = Version(8, 7)
