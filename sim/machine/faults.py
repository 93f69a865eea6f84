"""Failing compactions of a run: which ones, and after which share of their output."""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.models.devices.conditions import CompactionErrors


class Faults:
    """I/O errors that are still to come, for the compactions of all databases in the order in which they start."""

    def __init__(self, errors: Sequence[CompactionErrors] = ()) -> None:
        """`errors`: by time."""
        self._left = [[error.at, error.count, error.done] for error in errors]

    def next_compaction(self, now_s: float) -> float | None:
        """Return the share of its output after which a compaction that starts now fails; None if it does not fail."""
        for error in self._left:
            at_s, count, done = error
            if at_s <= now_s and count > 0:
                error[1] -= 1
                return done
        return None
