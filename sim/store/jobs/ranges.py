"""Range tombstones of the files that a job writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsmlab.models import since
from lsmlab.models.tree.files import KeyRange, SortedFile
from lsmlab.models.tree.ranges import covered_bytes, divide, joined

if TYPE_CHECKING:
    from lsmlab.sim.store.jobs.context import FamilyContext


def with_ranges(
    family: FamilyContext, files: list[SortedFile], ranges: Sequence[KeyRange], level: int, below: int
) -> list[SortedFile]:  # fmt: skip
    """Return the files that a job writes to `level` with its range tombstones; a job without entries writes one file of them.

    `below`: first level whose covered bytes count towards the compensated sizes (`since.RANGES_COMPENSATED`).
    """
    if not ranges:
        return files
    whole = joined(ranges)
    if not files:
        content, database = family.content, family.database
        files = [
            SortedFile(
                next(database.file_numbers), whole[0].lo, whole[-1].hi, content.file_bytes(0.0, 0.0, level),
                created_s=database.env.now, table_format=content.levels[level].table_format,
            )
        ]  # fmt: skip
    divide(whole, files)
    if family.latest_options.version >= since.RANGES_COMPENSATED:
        for file in files:
            file.compensated_bytes += covered_bytes(family.tree, file.ranges, below)
    return files
