"""Entries and tombstones of a recorded store's SST files. RocksDB uses them to rank files with many tombstones higher.

The table_file_creation event of a file has its table properties. A file written before the LOG began has no event; it
is assumed to contain only puts, of the mean size of the puts in the LOG's other files.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from lsmlab.models.policies.rocksdb.levels import average_value, compensated_size
from lsmlab.validation.logs.history.jobs import LogFile
from lsmlab.validation.logs.history.witness import file_of
from lsmlab.validation.logs.records import Event


class StoreProperties:
    """Accumulated totals of a store's files, and compensated file sizes computed from them (VersionStorageInfo)."""

    def __init__(self, created: Iterable[Event]) -> None:
        """Read the properties from `created`, the table_file_creation events of the LOG."""
        files = (file_of(event, event.data["file_number"], event.data["file_size"])[0] for event in created)
        self._known = {file.number: file for file in files if file.entries is not None}
        self._deletes = any(file.deletions for file in self._known.values())
        self._put, self._put_bytes = _mean_put(list(self._known.values()))
        self._size = self._keys = self._values = self._puts = 0

    def opened(self, number: int, size_bytes: int) -> None:
        """Add a file that was added to the store to the totals (UpdateAccumulatedStats)."""
        found = self._of(number, size_bytes)
        self._size += found.size_bytes
        self._keys += found.raw_key_bytes
        self._values += found.raw_value_bytes
        self._puts += (found.entries or 0) - found.deletions

    def compensated_bytes(self, number: int, size_bytes: int) -> int:
        """Return the size by which RocksDB ranks the file, from the present totals (ComputeCompensatedSizes)."""
        if not self._deletes:
            return size_bytes
        found = self._of(number, size_bytes)
        mean = average_value(self._values, self._keys, self._puts, self._size)
        return compensated_size(size_bytes, found.entries or 0, found.deletions, mean)

    def _of(self, number: int, size_bytes: int) -> LogFile:
        if number in self._known:
            return self._known[number]
        puts = round(size_bytes / self._put_bytes)
        return LogFile(number, size_bytes, puts, 0, round(puts * self._put[0]), round(puts * self._put[1]))


def _mean_put(files: list[LogFile]) -> tuple[tuple[float, float], float]:
    """Return the mean (raw key bytes, raw value bytes) of a put, and the bytes that a put takes in an SST file.

    The bytes in the file are fitted by least squares, which separates puts from tombstones because files contain them
    in different proportions.
    """
    counts = np.array([((f.entries or 0) - f.deletions, f.deletions) for f in files], dtype=np.float64).reshape(-1, 2)
    puts = counts[:, 0].sum()
    if not puts:
        return (0.0, 0.0), 1.0
    key = sum(f.raw_key_bytes for f in files) / counts.sum()
    value = sum(f.raw_value_bytes for f in files) / puts
    sizes = np.array([f.size_bytes for f in files], dtype=np.float64)
    used = counts if counts[:, 1].any() else counts[:, :1]
    taken = np.linalg.lstsq(used, sizes, rcond=None)[0]
    return (key, value), float(max(1.0, taken[0]))
