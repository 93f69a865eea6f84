"""Growing table in blocks of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[Any]]
"""Columns of equal length by name."""


class Blocks:
    """Table that grows by blocks of rows; every block has the same columns."""

    def __init__(self) -> None:
        self._blocks: list[Columns] = []

    def __bool__(self) -> bool:
        """Return whether the table has a block."""
        return bool(self._blocks)

    def add(self, block: Columns) -> None:
        """Add rows; the table takes over the arrays and the mapping."""
        self._blocks.append(block)

    def columns(self) -> Columns:
        """Return the columns of the whole table, which has at least one block.

        Blocks are joined one column at a time, so that all rows are never in memory twice.
        """
        if len(self._blocks) > 1:
            blocks = self._blocks
            self._blocks = [{name: np.concatenate([b.pop(name) for b in blocks]) for name in list(blocks[0])}]
        return self._blocks[0]
