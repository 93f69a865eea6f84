"""Growing table of numbers, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[Any]]
"""Columns of equal length by name."""


class Blocks:
    """Table of numbers that grows by blocks of rows; every block has the same columns.

    A buffer per column takes up the rows. Arrays of the blocks would leave holes in the heap that nothing else fits into,
    and joining them would need all rows twice.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, bytearray] = {}
        self._types: dict[str, np.dtype[Any]] = {}

    def __bool__(self) -> bool:
        """Return whether the table has a block."""
        return bool(self._types)

    def add(self, block: Columns) -> None:
        """Add rows. Raises BufferError while arrays that `columns` returned are in use."""
        for name, values in block.items():
            self._types[name] = values.dtype
            self._buffers.setdefault(name, bytearray()).extend(values.tobytes())

    def columns(self) -> Columns:
        """Return the columns of the whole table as views of the buffers."""
        return {name: np.frombuffer(buffer, self._types[name]) for name, buffer in self._buffers.items()}
