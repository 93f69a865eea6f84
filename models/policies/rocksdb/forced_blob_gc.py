"""Forced garbage collection of blob files (behaviour/blob-files.md, Forced collection)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lsmlab.models import since
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.policies.decisions import Compaction, RunningJob
from lsmlab.models.policies.rocksdb.inputs import conflicts
from lsmlab.models.tree.blobs import BlobFile
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version

FORCED_BLOB_GC: Final = "ForcedBlobGC"
"""Reason of these compactions."""


def marked_files(tree: Tree, options: RocksDbOptions, version: Version) -> list[SortedFile]:
    """Return the free SST files that are linked to the oldest blob file, if old blob files have too much garbage.

    Source: VersionStorageInfo::ComputeFilesMarkedForForcedBlobGC. RocksDB's order of these files is that of a hash set; here
    it is that of their numbers.
    """
    cutoff, threshold = options.blob_garbage_collection_age_cutoff, options.blob_garbage_collection_force_threshold
    if not options.enable_blob_garbage_collection or threshold >= 1.0:
        return []
    eligible = tree.blobs.eligible(cutoff)
    if eligible == 0:
        return []
    files = tree.blobs.files
    oldest = files[:eligible] if version >= since.BLOB_FORCE_BY_ELIGIBLE else _oldest_batch(files)
    if len(oldest) > eligible:
        return []
    garbage = sum(file.garbage.record_bytes for file in oldest)
    if garbage < threshold * sum(file.total.record_bytes for file in oldest):
        return []
    return [file for _, file in sorted(files[0].linked.items()) if not file.busy]


def _oldest_batch(files: Sequence[BlobFile]) -> Sequence[BlobFile]:
    """Return the oldest blob file and those after it that no SST file has as its oldest one."""
    end = next((i for i, file in enumerate(files[1:], 1) if file.linked), len(files))
    return files[:end]


def forced_blob_gc(
    tree: Tree, running: Sequence[RunningJob], options: RocksDbOptions, version: Version
) -> Compaction | None:  # fmt: skip
    """Return a compaction of one marked file within its level, which relocates its old blobs; None without one."""
    for file in marked_files(tree, options, version):
        level = _level_of(tree, file)
        if level == 0 and any(job.start_level == 0 for job in running):
            continue
        if level > 0 and conflicts(running, level, file.lo, file.hi):
            return None
        return Compaction(level, level, ((level, (file,)),), FORCED_BLOB_GC)
    return None


def _level_of(tree: Tree, file: SortedFile) -> int:
    return next((level for level in range(1, tree.num_levels) if tree.levels[level].holds(file)), 0)
