"""BUILD: the search-based cuts equal the paper's key-by-key algorithm and keep its invariants.

Source: (behaviour/vlsm.md, vLSM output cutting).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsmlab.models.policies.decisions import CutContext
from lsmlab.models.policies.vlsm.vsst import Overlap, build_vssts
from lsmlab.models.tree.merge import MergedStream

F = 4
S_MAX = 40.0
Below = list[tuple[int, int, int]]
"""Files of L2: smallest key, largest key, bytes."""


def context(below: Below, target: float = S_MAX) -> CutContext:
    """Return the context of the cutter."""
    columns = np.array(below, dtype=np.int64).reshape(-1, 3).T
    return CutContext(1, int(target), 10**9, False, *columns)


def overlap_of(below: Below, lo: int, hi: int, size: float, measure: Overlap) -> float:
    """Return the overlap O of a vSST, computed over every file of L2."""
    touched = [b for a, z, b in below if a <= hi and z >= lo]
    return len(touched) if measure is Overlap.COUNT else sum(touched) / size


def build_key_by_key(keys: list[int], sizes: list[float], below: Below, measure: Overlap) -> list[int]:
    """Cut as in the pseudo code of R4, line by line."""
    cuts: list[int] = []
    begin, size = 0, 0.0
    for i, (key, own) in enumerate(zip(keys, sizes, strict=True)):
        if i > begin:
            o = overlap_of(below, keys[begin], key, size + own, measure)
            if size + own > S_MAX or (o > F and size >= S_MAX / F):
                cuts.append(i)
                begin, size = i, 0.0
        size += own
    return cuts


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[int], list[float], Below]:
    """Draw keys with sizes, and disjoint files below with gaps; sizes are multiples of 1/4, so sums are exact."""
    keys = sorted(draw(st.sets(st.integers(0, 200), min_size=1, max_size=60)))
    sizes = [n / 4 for n in draw(st.lists(st.integers(1, 24), min_size=len(keys), max_size=len(keys)))]
    borders = sorted(draw(st.sets(st.integers(0, 200), max_size=40)))
    files = [(a, z, draw(st.integers(1, 60))) for a, z in pairwise(borders)][::2]
    return keys, sizes, files


@pytest.mark.parametrize("measure", Overlap)
@settings(max_examples=150)
@given(stream=streams())
def test_search_equals_the_key_by_key_algorithm(
    measure: Overlap, stream: tuple[list[int], list[float], Below]
) -> None:
    """Both algorithms make the same cuts for any stream, any files below and both measures of overlap."""
    keys, sizes, below = stream
    merged = MergedStream(np.array(keys), np.concatenate(([0.0], np.cumsum(sizes))))

    assert build_key_by_key(keys, sizes, below, measure) == build_vssts(merged, context(below), F, measure)


@settings(max_examples=150)
@given(stream=streams())
def test_good_and_poor_vssts_keep_their_sizes(stream: tuple[list[int], list[float], Below]) -> None:
    """Poor: O > f and S_m, within one entry. Good: O <= f and S_m <= size <= S_M. The last vSST may be smaller."""
    keys, sizes, below = stream
    merged = MergedStream(np.array(keys), np.concatenate(([0.0], np.cumsum(sizes))))
    cuts = [0, *build_vssts(merged, context(below), F, Overlap.COUNT), len(keys)]
    for begin, end in pairwise(cuts):
        size, entry = sum(sizes[begin:end]), max(sizes[begin:end])
        o = overlap_of(below, keys[begin], keys[end - 1], size, Overlap.COUNT)

        assert size <= S_MAX
        if end < len(keys):
            assert size >= S_MAX / F
        if o > F:
            assert size < S_MAX / F + entry


def share_good(phi: float, growth: float, measure: Overlap) -> float:
    """Return the share of good vSSTs in an L1 of f x S_M with uniform keys above an L2 with Φ times the bytes."""
    rng = np.random.default_rng(1)
    space, samples, unit = 1 << 40, 1000, 1 << 20
    keys = np.unique(rng.integers(0, space, round(growth * samples)))
    cumulative = np.arange(len(keys) + 1) * (unit / samples)
    borders = np.linspace(0, space, round(growth * phi) + 1).astype(np.int64)
    below = [(int(a), int(z) - 1, unit) for a, z in pairwise(borders)]
    cuts = [0, *build_vssts(MergedStream(keys, cumulative), context(below, unit), growth, measure), len(keys)]
    good = [
        overlap_of(below, int(keys[a]), int(keys[z - 1]), float(cumulative[z] - cumulative[a]), measure) <= growth
        for a, z in pairwise(cuts)
    ]
    return float(np.mean(good))


def test_share_of_good_vssts_by_phi() -> None:
    """With f = 8, a vSST over 8 files of L2 has 8 S_M / Φ bytes, which is at least S_m = S_M / 8 up to Φ = f² = 64."""
    shares = {phi: share_good(phi, 8, Overlap.COUNT) for phi in (4, 8, 16, 32, 64, 80, 128)}

    assert all(shares[phi] > 0.95 for phi in (4, 8, 16, 32)), shares
    assert 0.3 < shares[64] < 0.6, shares  # more than the eighth that a pick of S_M needs
    assert shares[80] == shares[128] == 0.0, shares


def test_by_byte_ratio_no_vsst_is_good_from_phi_16() -> None:
    """If O is a ratio of bytes, L1 is 1/Φ as dense as L2 and a good vSST needs 1/f: none is left at Φ = 2 f.

    Below that, vSSTs that cross a file boundary of L2 at S_m are poor: at Φ = 4, S_m spans half a file.
    """
    shares = {phi: share_good(phi, 8, Overlap.RATIO) for phi in (4, 16, 32, 64)}

    assert shares[4] > 0.5, shares
    assert max(shares[phi] for phi in (16, 32, 64)) < 0.1, shares
