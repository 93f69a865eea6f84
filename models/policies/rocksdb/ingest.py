"""Place of a file that was written outside of the store: IngestExternalFile (behaviour/manual-compaction.md, Ingested files).

Source: `ExternalSstFileIngestionJob::AssignLevelAndSeqnoForIngestedFile`, db/external_sst_file_ingestion_job.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lsmlab.models import since
from lsmlab.models.policies.decisions import Picker, RunningJob
from lsmlab.models.policies.rocksdb.inputs import conflicts
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.universal import UniversalPicker
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version


class IngestionPlace(NamedTuple):
    """Where an ingested file goes."""

    level: int
    overlaps: bool
    """Whether the store has entries of its keys, so that the file needs a sequence number of its own."""


def ingestion_place(
    tree: Tree, picker: Picker, version: Version, running: Sequence[RunningJob], lo: int, hi: int
) -> IngestionPlace:  # fmt: skip
    """Return the deepest level that can take a file of keys in [lo, hi] and is above all older entries of these keys.

    An output of a running compaction in the range keeps the file out of its level; since 7.10 also out of all deeper ones.
    """
    only_filled = isinstance(picker, UniversalPicker) and version < since.INGESTION_OF_UNIVERSAL_TO_EMPTY
    base = picker.rules.targets(tree).base_level if isinstance(picker, LeveledPicker) else 1
    target = 0
    for level in range(tree.num_levels):
        if 0 < level < base:
            continue
        files = list(tree.files_of(level))
        conflict = conflicts(running, level, lo, hi)
        if any(_holds(file, lo, hi) for file in files) or (conflict and version >= since.INGESTION_ABOVE_RUNNING):
            return IngestionPlace(target, overlaps=True)
        if only_filled and not files:
            continue
        if level == 0 or not (any(f.lo <= hi and f.hi >= lo for f in files) or conflict):
            target = level
    return IngestionPlace(target, overlaps=False)


def writes_seqno(version: Version) -> bool:
    """Return whether the ingestion writes the sequence number into a file that needs one, and syncs it.

    The default of `write_global_seqno`; releases up to 5.15 sync as well, which is not modelled.
    """
    return since.INGESTION_SYNCS_SEQNO <= version < since.INGESTION_WITHOUT_SEQNO


def _holds(file: SortedFile, lo: int, hi: int) -> bool:
    """Return whether a file has an entry in [lo, hi]; a file without carried keys: whether its bounds overlap it."""
    if file.lo > hi or file.hi < lo:
        return False
    start, end = file.keys.searchsorted((lo, hi + 1)).tolist()
    return not len(file.keys) or end > start or any(r.lo <= hi and r.hi >= lo for r in file.ranges)
