"""Laws of popularity by rank: rank 0 is the most popular key (or, for recency, the newest).

A law has a distribution function in closed form, so draws, truncation and integrals cost the same for any number of
items. `n` is the number of keys.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from lsmlab.models.errors import InputError
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Int64Array = NDArray[np.int64]

YCSB_CONSTANT: Final = 0.99
"""YCSB's skew, `ZipfianGenerator.ZIPFIAN_CONSTANT`."""
YCSB_SCRAMBLED_ITEMS: Final = 10_000_000_000
"""Number of ranks at any record count (YCSB's `ScrambledZipfianGenerator.ITEM_COUNT`)."""


class RankLaw(ABC):
    """Distribution over the ranks from 0 on."""

    __slots__ = ()

    def items(self, n: int) -> int:
        """Number of ranks. Default: one per key."""
        return n

    @abstractmethod
    def cdf(self, ranks: FloatArray, n: int) -> FloatArray:
        """Probability of a rank below each of `ranks`; 0 at 0, 1 at `items(n)`. Same shape."""

    @abstractmethod
    def draw(self, u: FloatArray, n: int) -> Int64Array:
        """Return the rank at each fraction `u` of [0, 1). Same shape."""

    def heads(self, n: int, stride: int) -> int:
        """Number of first ranks whose probabilities differ too much to share groups of `stride`.

        Default: the first group, as in later groups of a power law the probabilities differ by less than a small factor.
        """
        return min(stride, self.items(n))


@dataclass(frozen=True, slots=True)
class Zipf(RankLaw):
    """Zipfian law: P(rank r) ∝ 1 / (r + 1)^constant, as YCSB draws it.

    YCSB uses the method of Gray et al. (SIGMOD 1994): exact for the first two ranks, then
    rank = n (η u - η + 1)^(1 / (1 - constant)). Its distribution function is the inverse of that. `item_count` None
    means as many ranks as keys.
    """

    constant: float = YCSB_CONSTANT
    item_count: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.constant <= 10:
            raise InputError(f"a Zipfian constant of {self.constant} is out of range; it must be in (0, 10]")

    def items(self, n: int) -> int:
        """Number of ranks."""
        return n if self.item_count is None else self.item_count

    def cdf(self, ranks: FloatArray, n: int) -> FloatArray:
        """Probability of a rank below each of `ranks`."""
        count = self.items(n)
        power, zeta, eta = self._parameters(count)
        inner = np.clip(ranks, min(2.0, count), count)
        above = 1.0 + ((inner / count) ** power - 1.0) / eta if count > 2 else np.ones_like(inner)
        below = np.where(ranks < 1, 0.0, 1.0 / zeta)
        return np.where(ranks >= count, 1.0, np.where(ranks < 2, below, above))

    def draw(self, u: FloatArray, n: int) -> Int64Array:
        """Return the rank at each fraction."""
        count = self.items(n)
        power, zeta, eta = self._parameters(count)
        if count <= 2:
            return (u * zeta >= 1.0).astype(np.int64) * (count - 1)
        with np.errstate(divide="ignore"):  # rounding may make the base 0 at the first two ranks, which are set below
            ranks = count * np.maximum(eta * u - eta + 1.0, 0.0) ** (1.0 / power)
        drawn = np.minimum(np.nan_to_num(ranks, posinf=count), count - 1).astype(np.int64)
        drawn = np.where(u * zeta < 1.0 + 0.5**self.constant, 1, np.maximum(drawn, 2))
        return np.where(u * zeta < 1.0, 0, drawn)

    def _parameters(self, count: int) -> tuple[float, float, float]:
        constant = self.constant
        if abs(constant - 1.0) < 1e-6:  # the exponent has a pole; the law is continuous across it
            constant = 1.0 - 1e-6
        zeta = _zeta(count, self.constant)
        power = 1.0 - constant
        first_two = 1.0 + 0.5**self.constant
        if count <= 2:
            return power, zeta, 1.0
        return power, zeta, (1.0 - (2.0 / count) ** power) / (1.0 - first_two / zeta)


@dataclass(frozen=True, slots=True)
class PowerLaw(RankLaw):
    """Power law of mixgraph, P(rank < r) = a · r^b: --key_dist_a, --key_dist_b (behaviour/db-bench.md, mixgraph).

    db_bench computes the seed ceil((u / a)^(1 / b)) at a u with n values, one per key. Below the knee, seeds are closer
    than these values and each seed occurs. From the knee on each value of u gives a different seed, with probability
    1 / n, and the seeds between never occur. Ranks number the seeds that can occur.
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        if self.a <= 0 or self.b <= 0:
            raise InputError(f"key_dist_a {self.a} and key_dist_b {self.b} must both be above 0, or one of them 0")
        if math.log(1.0 / self.a) / self.b > math.log(2.0**62):
            raise InputError(f"key_dist_a {self.a} and key_dist_b {self.b} spread accesses over more than 2^62 seeds")

    def knee(self, n: int | Int64Array) -> FloatArray:
        """Rank at which d(seed)/du is n; from there on each value of u gives a different seed."""
        last = math.pow(1.0 / self.a, 1.0 / self.b)
        if self.b >= 1.0:
            return np.full(np.shape(n), last)
        return np.asarray(np.minimum(last, (np.asarray(n) * (self.a * self.b)) ** (1.0 / (1.0 - self.b))))

    def items(self, n: int) -> int:
        """Number of seeds that can occur."""
        knee = float(self.knee(n))
        return max(1, math.ceil(knee + n * max(0.0, 1.0 - float(self.a * knee**self.b))))

    def cdf(self, ranks: FloatArray, n: int) -> FloatArray:
        """Probability of a rank below each of `ranks`."""
        knee = float(self.knee(n))
        below = self.a * np.clip(ranks, 0.0, knee) ** self.b + np.maximum(ranks - knee, 0.0) / n
        return np.where(ranks >= self.items(n), 1.0, np.minimum(1.0, below))

    def draw(self, u: FloatArray, n: int | Int64Array) -> Int64Array:
        """Return the rank at each fraction; `n` may differ per element."""
        knee = self.knee(n)
        at = self.a * knee**self.b
        ranks = np.ceil((np.minimum(u, at) / self.a) ** (1.0 / self.b) + np.maximum(u - at, 0.0) * n).astype(np.int64)
        most = np.ceil(knee + n * np.maximum(0.0, 1.0 - at)).astype(np.int64)
        return np.clip(ranks - 1, 0, np.maximum(most, 1) - 1)


@dataclass(frozen=True, slots=True)
class LogUniform(RankLaw):
    """Log-uniform law, rank = n · e^(-u · spread): db_bench's --read_random_exp_range."""

    spread: float

    def __post_init__(self) -> None:
        if not 0 < self.spread <= 40:
            raise InputError(f"read_random_exp_range: {self.spread} is out of range; it must be in (0, 40]")

    def cdf(self, ranks: FloatArray, n: int) -> FloatArray:
        """Probability of a rank below each of `ranks`."""
        return np.clip(1.0 - np.log(n / np.maximum(ranks, 1e-300)) / self.spread, 0.0, 1.0)

    def draw(self, u: FloatArray, n: int) -> Int64Array:
        """Return the rank at each fraction (ascending in u, unlike db_bench's formula; the law is the same)."""
        ranks: FloatArray = np.minimum(n * np.exp((u - 1.0) * self.spread), n - 1)
        return ranks.astype(np.int64)

    def heads(self, n: int, stride: int) -> int:
        """Return the first group; 0 if the ranks begin well beyond it."""
        return min(stride, n) if n * math.exp(-self.spread) < stride else 0


@dataclass(frozen=True, slots=True)
class Exponential(RankLaw):
    """Exponential law, P(rank >= r) = e^(-r/s), cut off at n: `percentile` % of accesses are to the first `fraction` of keys.

    YCSB's `exponential` request distribution (exponential.percentile 95, exponential.frac 0.8571428571).
    """

    percentile: float = 95.0
    fraction: float = 0.8571428571

    def __post_init__(self) -> None:
        if not (0 < self.percentile < 100 and 0 < self.fraction <= 1):
            raise InputError("exponential keys: the percentile must be in (0, 100) and the fraction in (0, 1]")

    def cdf(self, ranks: FloatArray, n: int) -> FloatArray:
        """Probability of a rank below each of `ranks`."""
        decay = self._decay(n)
        return np.minimum(1.0, np.expm1(-np.maximum(ranks, 0.0) * decay) / math.expm1(-n * decay))

    def draw(self, u: FloatArray, n: int) -> Int64Array:
        """Return the rank at each fraction."""
        decay = self._decay(n)
        return np.minimum(-np.log1p(u * math.expm1(-n * decay)) / decay, n - 1).astype(np.int64)

    def heads(self, n: int, stride: int) -> int:
        """Return 0, unless most accesses are to a few groups."""
        length = 1.0 / self._decay(n)
        return min(n, math.ceil(5 * length)) if length < stride else 0

    def _decay(self, n: int) -> float:
        return -math.log(1.0 - self.percentile / 100.0) / (self.fraction * n)


@dataclass(frozen=True, slots=True)
class Hotspot(RankLaw):
    """Hotspot: a share of the operations is uniform over a share of the keys, the rest uniform over the others.

    YCSB's `hotspot` (hotspotdatafraction 0.2, hotspotopnfraction 0.8).
    """

    data_fraction: float = 0.2
    operation_fraction: float = 0.8

    def __post_init__(self) -> None:
        if not (0 <= self.data_fraction <= 1 and 0 <= self.operation_fraction <= 1):
            raise InputError("hotspot keys: both fractions must be in [0, 1]")

    def cdf(self, ranks: FloatArray, n: int) -> FloatArray:
        """Probability of a rank below each of `ranks`."""
        hot, share = self._hot(n)
        inside = share * np.clip(ranks, 0, hot) / hot
        return inside + (1.0 - share) * np.clip(ranks - hot, 0, n - hot) / max(1, n - hot)

    def draw(self, u: FloatArray, n: int) -> Int64Array:
        """Return the rank at each fraction."""
        hot, share = self._hot(n)
        inside = u * hot / share if share > 0 else np.zeros_like(u)
        outside = hot + (u - share) * (n - hot) / (1.0 - share) if share < 1 else np.zeros_like(u)
        return np.minimum(np.where(u < share, inside, outside), n - 1).astype(np.int64)

    def heads(self, n: int, stride: int) -> int:
        """Return the hot set if it is only a few groups, else 0."""
        hot, _ = self._hot(n)
        return hot if hot < 8 * stride else 0

    def _hot(self, n: int) -> tuple[int, float]:
        hot = min(n, max(1, round(n * self.data_fraction)))
        return hot, (1.0 if hot == n else self.operation_fraction)


@lru_cache(maxsize=256)
def _zeta(count: int, constant: float) -> float:
    """Sum of 1 / i^constant for i = 1 … count: the head term by term, the tail by the Euler-Maclaurin formula."""
    head = min(count, 10_000)
    total = float(np.sum(np.arange(1, head + 1, dtype=np.float64)[::-1] ** -constant))
    if count > head:
        power = 1.0 - constant
        integral = (
            math.log(count / head) if abs(power) < 1e-12 else (float(count) ** power - float(head) ** power) / power
        )
        ends = (float(count) ** -constant - float(head) ** -constant) / 2
        total += integral + ends
    return total
