"""Speed of a hard disk from its outer to its inner tracks, and the tracks of runs that follow each other.

Bits are equally dense on all tracks, and inner tracks are shorter, so they pass the head at a lower speed. ext4 places a large
file behind the last large file of any directory (stream allocation: `s_mb_last_group` in fs/ext4/mballoc.c). So runs that
follow each other write from the outer to the inner tracks and then begin at the outer ones again, and the place of one of
them tells the places of all (docs/decisions/0054).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
_PLACES: Final = 1000
"""Number of places that `start_of` compares."""


@dataclass(frozen=True, slots=True)
class Tracks:
    """Tracks of a hard disk. A place is the share of its bytes on tracks further out, from 0 to 1; place 1 is again place 0."""

    capacity_bytes: float
    outer_bytes_per_s: float
    """Sustained speed on the outermost tracks, in bytes per second; above `inner_bytes_per_s`."""
    inner_bytes_per_s: float
    """Sustained speed on the innermost tracks, in bytes per second."""

    def bytes_per_s(self, places: Array) -> Array:
        """Return the speed at some places: it is in proportion to the radius, and the bytes outside a radius to the area."""
        return np.asarray(self.outer_bytes_per_s * np.sqrt(1.0 - self._loss * (places % 1.0)))

    def mean_bytes_per_s(self, first: float, share: float) -> float:
        """Return the mean speed of writing a share of the disk's bytes, above 0, from place `first` on."""
        length, seconds = share, 0.0
        place = first % 1.0
        while length > 0.0:
            step = min(length, 1.0 - place)
            seconds += self._seconds(place, place + step)
            length, place = length - step, 0.0
        return self.capacity_bytes * share / seconds

    def start_of(self, seconds: Array, written: Array, share: float) -> float:
        """Return the place at which a run began, which wrote a share of the disk's bytes: least squares of the seconds.

        `seconds` and `written`: time and bytes of parts of the run in their order, not empty. Both have shape (n,).
        """
        places = np.arange(_PLACES) / _PLACES
        along = share * (np.cumsum(written) - written / 2.0) / written.sum()
        errors_s = written / self.bytes_per_s(places[:, None] + along) - seconds
        return float(places[np.argmin((errors_s**2).sum(axis=1))])

    @property
    def _loss(self) -> float:
        return 1.0 - (self.inner_bytes_per_s / self.outer_bytes_per_s) ** 2

    def _seconds(self, first: float, last: float) -> float:
        """Return the seconds for the bytes between two places: the integral of capacity / speed."""
        outside, inside = (math.sqrt(1.0 - self._loss * place) for place in (first, last))
        return 2.0 * self.capacity_bytes * (outside - inside) / (self._loss * self.outer_bytes_per_s)


@dataclass(frozen=True, slots=True)
class Consecutive:
    """Runs that followed each other on a hard disk."""

    run_bytes: Mapping[str, float]
    """Bytes, above 0, that each run wrote into SST files and WALs, by the run's label, in the order of the runs."""
    known: str
    """Label of the run whose place is known."""
    first: float
    """Place at which that run began."""
    measured: float = 1.0
    """Share of each run's bytes in its measured part, which comes first; above 0."""

    def speeds(self, disk: Tracks) -> Iterator[tuple[str, float]]:
        """Yield each run's label and its mean bytes per second in its measured part."""
        length = {label: size / disk.capacity_bytes for label, size in self.run_bytes.items()}
        before = dict(zip(length, accumulate(length.values(), initial=0.0), strict=False))
        for label, share in length.items():
            yield label, disk.mean_bytes_per_s(self.first + before[label] - before[self.known], self.measured * share)
