"""Preference for files whose data is near its `ttl`, in the order of kMinOverlappingRatio (FileTtlBooster).

See (behaviour/leveled-compaction.md, File priority). Source: db/compaction/file_pri.h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from lsmlab.models.tree.level import Level
from numpy.typing import NDArray

_STEPS: Final = 16
"""Steps that a level has grown by when the next deeper one begins (kBoostRatio)."""
_MOST_HALVINGS: Final = 63
_LEAST_TTL_S: Final = 32


@dataclass(frozen=True, slots=True)
class TtlBoost:
    """Rule for one level."""

    start_s: int
    """Age from which a file is preferred."""
    step_s: int
    """Time in which its divisor grows by 1."""

    @classmethod
    def of(cls, ttl_s: int, level: int, last_level: int) -> TtlBoost | None:
        """Return the rule of a level; None for L0 and from the last level with files on, and without a ttl.

        Below 32 s RocksDB's unsigned arithmetic makes the age endless.
        """
        if ttl_s < _LEAST_TTL_S or level == 0 or level >= last_level:
            return None
        half_s = ttl_s // 2
        range_s = (ttl_s // 32 * 31 - half_s) >> min(_MOST_HALVINGS, last_level - level)
        return cls(half_s + range_s, max(range_s // _STEPS, 1))

    def divisors(self, level: Level, now_s: float) -> NDArray[np.int64]:
        """Return what divides the overlap ratio of each file of a level: 1 for young data."""
        ages = int(now_s) - np.array([int(file.data_from_s) for file in level.files], dtype=np.int64)
        return np.where(ages > self.start_s, (ages - self.start_s) // self.step_s + 1, 1)
