"""Compression type of the files of each level."""

from __future__ import annotations

from dataclasses import dataclass

from lsmlab.models.options.fields import Compression


@dataclass(frozen=True, slots=True)
class CompressionByLevel:
    """Compression types by level, from three options (behaviour/compaction-jobs.md, Compression of outputs)."""

    compression: Compression = Compression.SNAPPY
    per_level: tuple[Compression, ...] = ()
    """`compression_per_level`: of L0, the base level and the levels below it; overrides `compression`."""
    bottommost: Compression = Compression.DISABLED
    """`bottommost_compression`: of compactions to the last level with files; DISABLED: as its level."""

    @property
    def compresses(self) -> bool:
        """Return whether the files of any level may be compressed."""
        return any(c.compresses for c in (*(self.per_level or (self.compression,)), self.bottommost))

    def flushed(self) -> Compression:
        """Return the compression of flushes, GetCompressionFlush."""
        return self.per_level[0] if self.per_level else self.compression

    def compacted(self, level: int, base_level: int, last_level: int) -> Compression:
        """Return the compression of compactions to `level`, GetCompressionType.

        `last_level` is the deepest level with files.
        """
        if self.bottommost is not Compression.DISABLED and level >= last_level:
            return self.bottommost
        if not self.per_level:
            return self.compression
        index = 0 if level == 0 else level - base_level + 1
        return self.per_level[max(0, min(index, len(self.per_level) - 1))]
