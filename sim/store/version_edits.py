"""Version edits: all changes to the tree of a column family pass through this module, which notifies observers."""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.models.tree.blobs import NO_BLOBS, BlobEdit, BlobFile
from lsmlab.models.tree.files import SortedFile
from lsmlab.models.tree.tree import Placement, Tree
from lsmlab.sim.store.jobs.context import FamilyContext
from lsmlab.sim.store.records import NO_JOB, Files, VersionEdit


def apply_edit(
    family: FamilyContext, job: int, removed: Sequence[Files] = (), added: Sequence[Files] = (),
    placement: Placement = Placement.REPLACE, blobs: BlobEdit = NO_BLOBS,
) -> tuple[list[SortedFile], list[BlobFile]]:  # fmt: skip
    """Apply the version edit of a job: remove files, add files. Return the unreferenced SST files and blob files."""
    unreferenced = family.tree.install(removed, added, placement)
    dropped: list[BlobFile] = []
    if family.tree.blobs or blobs.added:
        dropped = family.tree.install_blobs(removed, added, blobs, family.database.env.now)
    moved = {file.number for _, files in removed for file in files}
    for level, files in added:
        family.written_bytes[level] += sum(file.size_bytes for file in files if file.number not in moved)
    if family.events.edited:
        counted = blobs if family.tree.blobs.counts_garbage else BlobEdit(blobs.added)
        now_s = family.database.env.now
        family.events.edited(VersionEdit(now_s, job, removed, added, (), (), unreferenced, counted, dropped))
    return unreferenced, dropped


def apply_link(family: FamilyContext, job: int, level: int, output: int, files: Sequence[SortedFile]) -> None:
    """Freeze files of `level` and link their slices to files of level `output` (LDC)."""
    links = family.tree.link(level, output, files)
    if family.events.edited:
        family.events.edited(VersionEdit(family.database.env.now, job, [(level, files)], frozen=files, links=links))


def opening_edit(tree: Tree, now_s: float) -> VersionEdit:
    """Return the version edit that builds `tree` from nothing, including frozen files, slices and blob files."""
    added = [(level, list(tree.files_of(level))) for level in range(tree.num_levels)]
    links = [(file, part) for _, files in added for file in files for part in file.slices]
    blobs = BlobEdit(tree.blobs.files, {file.number: file.garbage for file in tree.blobs.files if file.garbage.keys})
    return VersionEdit(now_s, NO_JOB, added=added, frozen=list(tree.frozen.values()), links=links, blobs=blobs)
