"""Options of a manual compaction (DB::CompactRange over all keys), and db_bench's by release.

Source: include/rocksdb/options.h, `CompactRangeOptions`; tools/db_bench_tool.cc, `Compact`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from lsmlab.models import since
from lsmlab.models.errors import InputError
from lsmlab.models.version import Version


class BottommostLevelCompaction(Enum):
    """Whether the deepest level with files is rewritten too."""

    SKIP = "kSkip"
    IF_HAVE_FILTER = "kIfHaveCompactionFilter"
    FORCE = "kForce"
    FORCE_OPTIMIZED = "kForceOptimized"
    """As kForce, without the files that this manual compaction has written itself."""

    @property
    def forced(self) -> bool:
        """Return whether it is rewritten in any case."""
        return self in (BottommostLevelCompaction.FORCE, BottommostLevelCompaction.FORCE_OPTIMIZED)


@dataclass(frozen=True, slots=True)
class CompactRangeOptions:
    """Settings of the step `compact`; None: what db_bench of the release does."""

    exclusive_manual_compaction: bool | None = None
    """Whether no automatic compaction runs at the same time."""
    bottommost_level_compaction: BottommostLevelCompaction | None = None
    change_level: bool = False
    """Whether the files go to `target_level` afterwards (RefitLevel)."""
    target_level: int = -1
    """-1: the highest level that the files fit into."""
    allow_write_stall: bool = False
    """Whether the flush before the compaction begins even if it stalls writers (since 5.12; before, it always does)."""

    def __post_init__(self) -> None:
        if self.target_level != -1 and not self.change_level:
            raise InputError("target_level: it has no effect without change_level: true")

    def exclusive(self, version: Version) -> bool:
        """Return whether automatic compactions wait in this release."""
        given = self.exclusive_manual_compaction
        return version < since.MANUAL_WITH_OTHERS if given is None else given

    def awaits_stalls(self, version: Version) -> bool:
        """Return whether the flush first waits until it would stall no writer."""
        return not self.allow_write_stall and version >= since.COMPACT_RANGE_AWAITS_STALLS

    def bottommost(self, version: Version) -> BottommostLevelCompaction:
        """Return the treatment of the deepest level in this release."""
        if self.bottommost_level_compaction is not None:
            return self.bottommost_level_compaction
        if version < since.DB_BENCH_FORCES:
            return BottommostLevelCompaction.IF_HAVE_FILTER
        return BottommostLevelCompaction.FORCE if version < since.FORCE_OPTIMIZED else BottommostLevelCompaction.FORCE_OPTIMIZED
