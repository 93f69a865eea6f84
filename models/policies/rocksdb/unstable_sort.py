"""Order in which std::sort of libstdc++ leaves equal elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_INSERTION: Final = 16
"""Length up to which std::sort sorts by insertion, which keeps the order of equal elements (_S_threshold)."""


def sorted_as_libstdcxx(keys: Sequence[int]) -> list[int]:
    """Return the indices of `keys` in ascending order, equal keys as GNU's std::sort leaves them.

    Source: libstdc++, bits/stl_algo.h (__introsort_loop, __unguarded_partition_pivot, __final_insertion_sort). A part
    that is still long after 2 log2(n) partitions, which std::sort finishes as a heap, keeps its order here.
    """
    order = list(range(len(keys)))
    depth = 2 * (len(keys).bit_length() - 1)
    parts = [(0, len(keys), depth)]
    while parts:
        first, last, depth = parts.pop()
        while last - first > _INSERTION and depth > 0:
            depth -= 1
            cut = _partition(order, keys, first, last)
            parts.append((cut, last, depth))
            last = cut
    return sorted(order, key=keys.__getitem__)


def _partition(order: list[int], keys: Sequence[int], first: int, last: int) -> int:
    """Partition [first, last) around the median of three elements, which becomes the first one; return the cut."""
    middle = _median(order, keys, first + 1, first + (last - first) // 2, last - 1)
    order[first], order[middle] = order[middle], order[first]
    pivot = keys[order[first]]
    low, high = first + 1, last
    while True:
        while keys[order[low]] < pivot:
            low += 1
        high -= 1
        while pivot < keys[order[high]]:
            high -= 1
        if low >= high:
            return low
        order[low], order[high] = order[high], order[low]
        low += 1


def _median(order: Sequence[int], keys: Sequence[int], a: int, b: int, c: int) -> int:
    """Return the position among three whose key is the median (__move_median_to_first)."""
    x, y, z = keys[order[a]], keys[order[b]], keys[order[c]]
    if x < y:
        return b if y < z else c if x < z else a
    return a if x < z else c if y < z else b
