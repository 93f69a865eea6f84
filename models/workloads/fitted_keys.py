"""Distribution of keys fitted to recorded operations: by name, with its parameters and its errors.

The fit is to the number of distinct keys in windows of operations, from short ones to the whole record. What it was not
fitted to shows how good it is: the share of the most popular keys, and how many ranges of the key space a window reaches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.workloads.choosers import Chooser, UniformKeys
from lsmlab.models.workloads.ranks import Zipf
from lsmlab.models.workloads.skewed import FloatArray, RankedKeys, scatter

_MOST_COMPARED: Final = 1_000_000
"""Operations whose statistics are compared with as many of the fitted distribution."""
_WINDOWS: Final = (64, 16, 4, 1)
"""Windows of the fit: the record divided by these numbers."""
_MOST_WINDOWS: Final = 32
"""Windows of one length that are counted."""
_SHORTEST: Final = 16
_SINGLES: Final = 256
"""First ranks whose probabilities count one by one."""
_CLASSES: Final = 200
"""Classes of the further ranks."""
_CONSTANTS: Final = tuple(round(0.1 * i, 2) for i in range(1, 25))
"""Zipf's constants that are tried."""
_STEPS: Final = tuple(round(0.02 * i, 2) for i in range(-4, 5))
"""Steps from the best of them that are tried next."""
_POPULATIONS: Final = tuple(np.geomspace(1.0, 1e4, 21).tolist())
"""Numbers of keys that are tried where they are unknown, as multiples of the distinct keys of the record."""
_NEARBY: Final = tuple(np.geomspace(1 / 1.5, 1.5, 13).tolist())
"""Multiples of the best of them that are tried next."""
_LEAST_REPEATS: Final = 25
"""Least number of operations on a key seen before, for an estimate of the number of keys (error 20 %)."""
_RANGES: Final = 1024
"""Largest number of ranges of the key space whose use is compared."""
_PER_RANGE: Final = 16
"""Least number of keys per range."""
_TOP: Final = 0.01
_NEW: Final = 0.999
"""Share of writes to a key not seen before from which on every key counts as new."""
_ASCENDING: Final = 0.9
"""Share of the writes above the one before, from which on keys count as written in order."""
_BETTER: Final = 1.5
"""Ratio of errors from which on a skewed distribution is taken in place of a uniform one, which has a parameter less."""


@dataclass(frozen=True, slots=True)
class Check:
    """A property of the record, and of as many operations of the fitted distribution."""

    name: str
    recorded: float
    fitted: float

    @property
    def error(self) -> float:
        """Return the relative error of the fit."""
        return self.fitted / self.recorded - 1.0 if self.recorded else math.inf if self.fitted else 0.0


@dataclass(frozen=True, slots=True)
class KeyFit:
    """Fitted distribution of the keys of some operations."""

    distribution: str
    """uniform, zipfian (popular keys side by side) or scrambled_zipfian; insert or insert_ordered if every key is new."""
    constant: float | None
    """Zipf's constant."""
    population: int
    """Number of keys."""
    population_known: bool
    """Whether repetitions show the number of keys, or the caller did; otherwise it is a lower bound."""
    operations: int
    keys: int
    """Distinct keys in the record."""
    checks: tuple[Check, ...]

    @property
    def chooser(self) -> Chooser:
        """Return the distribution; uniform for new keys."""
        if self.constant is None:
            return UniformKeys()
        return RankedKeys(Zipf(self.constant), scattered=self.distribution == "scrambled_zipfian")


def fit_keys(keys: KeyArray, population: int | None = None, window: int | None = None, *, writes: bool = False) -> KeyFit:
    """Fit the distribution of recorded keys, numbered in key order.

    `population`: number of keys of the store, if known; `window`: a further number of operations whose distinct keys are
    compared, such as the entries of a memtable; `writes`: whether new keys may be inserts.
    """
    used, keys = np.unique(keys, return_inverse=True)
    n, distinct = len(keys), len(used)
    repeats = n - distinct
    if writes and distinct >= _NEW * n and n > _SHORTEST:
        name = "insert_ordered" if float(np.mean(np.diff(keys) > 0)) >= _ASCENDING else "insert"
        return KeyFit(name, None, distinct, population_known=False, operations=n, keys=distinct, checks=())
    lengths = [n // part for part in _WINDOWS if n // part >= _SHORTEST] or [n]
    seen = np.array([distinct_keys(keys, length) for length in lengths])
    sizes = [max(population, distinct)] if population is not None else [round(distinct * f) for f in _POPULATIONS]
    candidates = [_best_of([None], sizes, lengths, seen, scattered=False)]
    if repeats >= _LEAST_REPEATS:
        for scattered in (True, False):
            coarse = _best_of(_CONSTANTS, sizes, lengths, seen, scattered=scattered)
            nearby = sizes if population is not None else [max(distinct, round(coarse.population * f)) for f in _NEARBY]
            constants = [(coarse.constant or 0.0) + step for step in _STEPS]
            candidates.append(_best_of(constants, nearby, lengths, seen, scattered=scattered))
    known = population is not None or repeats >= _LEAST_REPEATS
    names = ("uniform", "scrambled_zipfian", "zipfian")
    fits = [
        KeyFit(name, one.constant, one.population, known, n, distinct, ()) for name, one in zip(names, candidates, strict=False)
    ]
    fits = [replace(fit, checks=_checks(fit, keys, lengths, window)) for fit in fits]
    best = min(fits, key=_total)
    return fits[0] if _total(fits[0]) <= _BETTER * _total(best) else best


class _Candidate(NamedTuple):
    """Parameters of a distribution, and their squared errors."""

    misfit: float
    population: int
    constant: float | None


def _best_of(
    constants: Sequence[float | None], sizes: Sequence[int], lengths: Sequence[int], seen: FloatArray, *, scattered: bool
) -> _Candidate:
    """Return the constant (None: uniform) and the number of keys that expect the distinct keys of the windows best."""
    tried = []
    for items in sizes:
        for constant in constants:
            distinct = _uniform(items, lengths) if constant is None else _ranked(constant, items, lengths, scattered=scattered)
            tried.append(_Candidate(float(np.sum(np.log(distinct / seen) ** 2)), items, constant))
    return min(tried, key=lambda one: one.misfit)


def _uniform(items: int, lengths: Sequence[int]) -> FloatArray:
    return items * -np.expm1(np.array(lengths) * math.log1p(-1.0 / max(items, 2)))


def _ranked(constant: float, items: int, lengths: Sequence[int], *, scattered: bool) -> FloatArray:
    """Return the expected distinct keys of windows; scattered ranks share keys, as `scatter` lets them."""
    singles = np.arange(min(items, _SINGLES) + 1, dtype=np.float64)
    further = np.round(np.geomspace(len(singles), max(items, len(singles)), _CLASSES))
    edges = np.unique(np.concatenate((singles, further[further <= items])))
    ranks = np.diff(edges)
    absent = np.log1p(-np.minimum(np.diff(Zipf(constant).cdf(edges, items)) / ranks, 1.0 - 1e-12))
    touched = -np.expm1(np.array(lengths)[:, None] * absent) @ ranks
    if scattered:
        crowding = _crowding(items)
        touched = items / crowding * -np.expm1(-crowding * touched / items)
    return np.asarray(touched, dtype=np.float64)


@lru_cache(maxsize=64)
def _crowding(items: int) -> float:
    """Return b where touched ranks, x per key, touch (1 - e^(-b x)) / b of the keys: `scatter` lets ranks share keys.

    b is 1 for a random hash, and such that all ranks together touch as many keys as they do.
    """
    if not 1 < items <= _MOST_COMPARED:
        return 1.0
    ranks = np.arange(items, dtype=np.int64)
    used = np.count_nonzero(np.bincount(scatter(ranks, items), minlength=items)) / items
    low, high = 1e-6, 50.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if -math.expm1(-middle) / middle > used else (low, middle)
    return (low + high) / 2


def _checks(fit: KeyFit, keys: KeyArray, lengths: Sequence[int], window: int | None) -> tuple[Check, ...]:
    """Compare properties of the record with those of as many operations drawn from the fit."""
    keys = keys[:_MOST_COMPARED]
    u = np.random.default_rng(0).random(len(keys))
    drawn = (u * fit.population).astype(np.int64)
    if fit.constant is not None:
        ranks = Zipf(fit.constant).draw(u, fit.population)
        drawn = scatter(ranks, fit.population) if fit.distribution == "scrambled_zipfian" else ranks
    pairs = [
        (f"distinct keys in {length:,} operations", distinct_keys(keys, length), distinct_keys(drawn, length))
        for length in sorted({min(length, len(keys)) for length in (*lengths, *([window] if window else []))})
    ]
    pairs.append(("share of the most popular 1 % of the keys", _top_share(keys), _top_share(drawn)))
    short, ranges = lengths[0], max(1, min(_RANGES, fit.keys // _PER_RANGE))
    pairs.append((
        f"share of the key space that {short:,} operations reach", distinct_keys(keys * ranges // fit.keys, short) / ranges,
        distinct_keys(drawn * ranges // fit.population, short) / ranges,
    ))  # fmt: skip
    return tuple(Check(*pair) for pair in pairs)


def _total(fit: KeyFit) -> float:
    """Return the sum of the squared errors, and that of an error of 1 %, below which fits do not differ."""
    return 1e-4 + sum(math.log((check.fitted or 1e-9) / check.recorded) ** 2 for check in fit.checks if check.recorded)


def distinct_keys(keys: KeyArray, length: int) -> float:
    """Return the mean number of distinct keys in windows of `length` operations, at most 32 of them evenly over the record."""
    windows = max(1, len(keys) // length)
    starts = np.unique(np.linspace(0, windows - 1, min(windows, _MOST_WINDOWS)).astype(np.int64)) * length
    return float(np.mean([len(np.unique(keys[start : start + length])) for start in starts.tolist()]))


def _top_share(keys: KeyArray) -> float:
    """Return the share of the operations on the 1 % of the distinct keys that have most of them."""
    counts = np.sort(np.unique(keys, return_counts=True)[1])[::-1]
    return float(counts[: max(1, round(_TOP * len(counts)))].sum()) / len(keys)
