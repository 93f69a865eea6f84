"""Level of a file that was written outside of the store: IngestExternalFile (behaviour/manual-compaction.md, Ingested files).

Source: `ExternalSstFileIngestionJob::AssignLevelAndSeqnoForIngestedFile`, db/external_sst_file_ingestion_job.cc.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.models.policies.decisions import Picker, RunningJob
from lsmlab.models.policies.rocksdb.inputs import conflicts
from lsmlab.models.policies.rocksdb.leveled import LeveledPicker
from lsmlab.models.policies.rocksdb.universal import UniversalPicker
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Tree


def ingestion_level(tree: Tree, picker: Picker, running: Sequence[RunningJob], lo: int, hi: int) -> int:
    """Return the deepest level that can take a file of keys in [lo, hi] and is above all older entries of these keys."""
    universal = isinstance(picker, UniversalPicker)
    base = picker.rules.targets(tree).base_level if isinstance(picker, LeveledPicker) else 1
    target = 0
    for level in range(tree.num_levels):
        if 0 < level < base:
            continue
        files = list(tree.files_of(level))
        if any(_holds(file, lo, hi) for file in files):
            break
        if universal and not files:
            continue
        if level == 0 or not (any(f.lo <= hi and f.hi >= lo for f in files) or conflicts(running, level, lo, hi)):
            target = level
    return target


def _holds(file: SortedFile, lo: int, hi: int) -> bool:
    """Return whether a file has an entry in [lo, hi]; a file without carried keys: whether its bounds overlap it."""
    if file.lo > hi or file.hi < lo:
        return False
    start, end = file.keys.searchsorted((lo, hi + 1)).tolist()
    return not len(file.keys) or end > start or any(r.lo <= hi and r.hi >= lo for r in file.ranges)
