"""Distribution of keys fitted to recorded operations: by name, with its parameters and its errors.

The fit is to the number of distinct keys in windows of operations, from short ones to the whole record. What it was not
fitted to shows how good it is: the share of the most popular keys, and how many ranges of the key space a window reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
_CONSTANTS: Final = np.arange(0.1, 1.65, 0.05)
"""Zipf's constants that are tried."""
_POPULATIONS: Final = np.geomspace(1.0, 1e4, 41)
"""Numbers of keys that are tried where they are unknown, as multiples of the distinct keys of the record."""
_LEAST_REPEATS: Final = 25
"""Least number of operations on a key seen before, for an estimate of the number of keys (error 20 %)."""
_RANGES: Final = 1024
"""Ranges of the key space whose use is compared."""
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
    sizes = [max(population, distinct)] if population is not None else [round(distinct * factor) for factor in _POPULATIONS]
    candidates = [_best_of(lambda items: (None, _uniform(items, lengths)), sizes, seen)]
    if repeats >= _LEAST_REPEATS:
        for scattered in (True, False):
            for_one = [_best_of(partial(_ranked, float(c), lengths, scattered), sizes, seen) for c in _CONSTANTS]
            candidates.append(min(for_one, key=lambda one: one.misfit))
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
    expected: Callable[[int], tuple[float | None, FloatArray]], sizes: Sequence[int], seen: FloatArray
) -> _Candidate:
    """Return the number of keys with which a distribution expects the distinct keys of the windows best."""
    tried = []
    for items in sizes:
        constant, distinct = expected(items)
        tried.append(_Candidate(float(np.sum(np.log(distinct / seen) ** 2)), items, constant))
    return min(tried, key=lambda one: one.misfit)


def _uniform(items: int, lengths: Sequence[int]) -> FloatArray:
    return items * -np.expm1(np.array(lengths) * math.log1p(-1.0 / max(items, 2)))


def _ranked(constant: float, lengths: Sequence[int], scattered: bool, items: int) -> tuple[float, FloatArray]:
    """Return the expected distinct keys of windows; scattered ranks share keys at random, as `scatter` lets them."""
    singles = np.arange(min(items, _SINGLES) + 1, dtype=np.float64)
    edges = np.unique(np.concatenate((singles, np.round(np.geomspace(len(singles), max(items, len(singles)), _CLASSES)))))
    edges = edges[edges <= items]
    ranks = np.diff(edges)
    each = np.diff(Zipf(constant).cdf(edges, items)) / ranks
    touched = np.array([float(ranks @ -np.expm1(length * np.log1p(-np.minimum(each, 1.0 - 1e-12)))) for length in lengths])
    return constant, items * -np.expm1(-touched / items) if scattered else touched


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
    short = lengths[0]
    pairs.append((
        f"share of the key space that {short:,} operations reach", distinct_keys(keys * _RANGES // fit.keys, short) / _RANGES,
        distinct_keys(drawn * _RANGES // fit.population, short) / _RANGES,
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
