"""A flash drive simulated page by page with greedy garbage collection, to check the closed form."""

from __future__ import annotations

import random


class PageDrive:
    """Flash drive with one open block; when no block is free, it collects the block with the fewest valid pages."""

    def __init__(self, utilisation: float, blocks: int = 128, pages: int = 128) -> None:
        # One block is always reserved as the target of copies and stores no data.
        self.logical_pages = round(utilisation * (blocks - 1) * pages)
        self.pages_per_block = pages
        self.programmed = 0
        self._place: list[tuple[int, int] | None] = [None] * self.logical_pages
        self._content: list[list[int]] = [[] for _ in range(blocks)]
        self._valid = [0] * blocks
        self._free = list(range(1, blocks))
        self._open = 0

    def write(self, page: int) -> None:
        """Write one logical page, then collect blocks until at least one block is free."""
        place = self._place[page]
        if place is not None:
            self._valid[place[0]] -= 1
        self._program(page)
        while len(self._free) < 1:
            self._collect()

    def _program(self, page: int) -> None:
        if len(self._content[self._open]) == self.pages_per_block:
            self._open = self._free.pop()
        block = self._content[self._open]
        self._place[page] = (self._open, len(block))
        block.append(page)
        self._valid[self._open] += 1
        self.programmed += 1

    def _collect(self) -> None:
        full = (b for b, c in enumerate(self._content) if len(c) == self.pages_per_block and b != self._open)
        victim = min(full, key=self._valid.__getitem__)
        kept = [page for slot, page in enumerate(self._content[victim]) if self._place[page] == (victim, slot)]
        self._content[victim] = []
        self._valid[victim] = 0
        self._free.append(victim)
        for page in kept:  # fewer pages than a block: a drive with spare space has a block with invalid pages
            self._program(page)


def measured_write_amplification(utilisation: float) -> float:
    """Return pages programmed per page written in the steady state of uniformly random writes."""
    drive = PageDrive(utilisation)
    rng = random.Random(1)
    for page in range(drive.logical_pages):
        drive.write(page)
    writes = 4 * drive.logical_pages
    for _ in range(writes):
        drive.write(rng.randrange(drive.logical_pages))
    start = drive.programmed
    for _ in range(writes):
        drive.write(rng.randrange(drive.logical_pages))
    return (drive.programmed - start) / writes
