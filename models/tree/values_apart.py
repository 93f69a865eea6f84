"""Values of a store with blob files: which of them live apart, their records, and the entries that stay in SST files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from lsmlab.models.tree.blobs import RECORD_HEADER_BYTES, BlobSums
from lsmlab.models.tree.files import IN_TABLE, BlobNumbers, KeyArray
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.memtable import varint_length
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
_TYPE_BYTES = 2
"""First and last byte of a blob index: its type and the compression type (BlobIndex::EncodeBlob)."""
_TYPICAL_NUMBER = 1000
"""File number whose length as a varint, 2 bytes, is that of most blob files."""


def reference_bytes(record_bytes: float, file_bytes: float) -> int:
    """Bytes of a blob index, the value that an SST file holds in place of a blob: type, file, offset, size, compression."""
    lengths = (varint_length(round(n)) for n in (_TYPICAL_NUMBER, file_bytes / 2.0, record_bytes))
    return _TYPE_BYTES + sum(lengths)


class LargeValues(NamedTuple):
    """Values of a distribution, divided by a smallest size of large ones."""

    share: float
    """Share of the values that are large."""
    large_bytes: float
    """Mean size of the large ones; 0 without any."""
    small_bytes: float
    """Mean size of the others; 0 without any."""


def table_value_bytes(mean: LargeValues, reference: float) -> float:
    """Mean size in bytes of a value in an SST file, with a reference in place of each large one."""
    return mean.share * reference + (1.0 - mean.share) * mean.small_bytes


class ValuesApart:
    """Converter from key arrays to blobs and to entries without them; one per column family, beside its `Content`.

    A carried key with a size of its own is large or not. One that represents many keys has the share of large values of the
    whole distribution.
    """

    def __init__(
        self, sample: KeySample, mean: LargeValues, *, key_bytes: float, least_bytes: float, reference: float,
        compression_ratio: float = 1.0, values: Any = None,
    ) -> None:  # fmt: skip
        """`reference`: bytes of a blob index; `compression_ratio`: bytes of a blob over those of its value.

        `values.of(codes)` gives value sizes and `values.single(codes)` whether a code is a single key; None where all values
        have the same size.
        """
        self.mean = mean
        self.reference = reference
        self.table_value_bytes = table_value_bytes(mean, reference)
        """Mean size in bytes of a value in an SST file, blob indexes included."""
        self._sample = sample
        self._overhead = RECORD_HEADER_BYTES + key_bytes
        self._least = max(1.0, least_bytes)
        self._ratio = compression_ratio
        self._values = values

    def _large(self, codes: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return the share of large values of each code, and their mean size in bytes."""
        share, size = np.full(len(codes), self.mean.share), np.full(len(codes), self.mean.large_bytes)
        if self._values is not None:
            single = self._values.single(codes)
            own = self._values.of(codes)
            share = np.where(single, own >= self._least, share)
            size = np.where(single, own, size)
        return share, size

    def leaving(self, codes: KeyArray) -> FloatArray:
        """Share of the values of each code that are large. Shape (len(codes),)."""
        return self._large(codes)[0]

    def blobs(self, codes: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return (blobs, record bytes) of each code."""
        share, size = self._large(codes)
        number: FloatArray = share * self._sample.weights(codes)
        return number, number * (self._overhead + self._ratio * size)

    def per_read(self, codes: KeyArray) -> tuple[float, float]:
        """Return (blobs, mean record bytes of a blob) of a read of one entry; `codes`: a sample of the keys that are read."""
        share, size = self._large(codes)
        number = float(share.sum())
        if number == 0.0:
            return 0.0, 0.0
        return number / len(codes), self._overhead + self._ratio * float((share * size).sum()) / number

    def table_values(self, codes: KeyArray) -> FloatArray:
        """Mean bytes of the values that an SST file holds for each code whose large values are apart, blob indexes included."""
        share, _ = self._large(codes)
        small = np.full(len(codes), self.mean.small_bytes)
        if self._values is not None:
            small = np.where(self._values.single(codes), self._values.of(codes), small)
        found: FloatArray = share * self.reference + (1.0 - share) * small
        return found

    def value_bytes(self, sums: BlobSums) -> float:
        """Uncompressed value bytes of blobs."""
        return (sums.record_bytes - sums.blobs * self._overhead) / self._ratio

    def sums(self, codes: KeyArray, numbers: BlobNumbers) -> dict[int, BlobSums]:
        """Return the blobs of `codes` by the blob file `numbers` that hold them; codes in no blob file do not count."""
        apart = numbers != IN_TABLE
        if not apart.any():
            return {}
        files, place = np.unique(numbers[apart], return_inverse=True)
        blobs, record_bytes = self.blobs(codes[apart])
        columns: Sequence[list[Any]] = (
            files.tolist(), np.bincount(place).tolist(), np.bincount(place, blobs).tolist(),
            np.bincount(place, record_bytes).tolist(),
        )  # fmt: skip
        return {number: BlobSums(*sums) for number, *sums in zip(*columns, strict=True)}
