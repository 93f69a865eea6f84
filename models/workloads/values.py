"""Value sizes: fixed, or drawn from a distribution and tied to the key, as db_bench and mixgraph do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.values_apart import LargeValues
from lsmlab.models.workloads.hashes import splitmix_64
from numpy.typing import NDArray


class ValueSizes(Protocol):
    """Distribution of value sizes."""

    @property
    def mean_bytes(self) -> float:
        """Mean value size over the operations that write."""

    def quantile(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sizes at the fractions `u` of (0, 1), of the same shape."""

    def __hash__(self) -> int:
        """Equal distributions have equal hashes, so that their integrals are computed once."""


@dataclass(frozen=True, slots=True)
class FixedSize:
    """One size for all values."""

    size_bytes: float

    @property
    def mean_bytes(self) -> float:
        """Return the size."""
        return self.size_bytes

    def quantile(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the size at all fractions."""
        return np.full(u.shape, self.size_bytes)


@dataclass(frozen=True, slots=True)
class _Between:
    """Sizes between two bounds, symmetric around the middle."""

    min_bytes: float
    max_bytes: float

    def __post_init__(self) -> None:
        if not 0 <= self.min_bytes <= self.max_bytes:
            raise InputError(f"value_size_min {self.min_bytes:g} must not exceed value_size_max {self.max_bytes:g}")

    @property
    def mean_bytes(self) -> float:
        """Midpoint."""
        return (self.min_bytes + self.max_bytes) / 2


@dataclass(frozen=True, slots=True)
class UniformSize(_Between):
    """Uniform between two sizes (--value_size_distribution_type=uniform, --value_size_min, --value_size_max)."""

    def quantile(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sizes linear in `u`."""
        return np.floor(self.min_bytes + u * (self.max_bytes - self.min_bytes) + 0.5)


@dataclass(frozen=True, slots=True)
class NormalSize(_Between):
    """Normal around the middle of two sizes with a sixth of their distance as standard deviation, clamped to them.

    db_bench's NormalDistribution: mean (min + max) / 2, standard deviation (max - min) / 6, clamped.
    """

    def quantile(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Quantiles of the clamped normal distribution."""
        from scipy.special import ndtri  # takes 0.1 s of start-up and is needed only here

        sizes = self.mean_bytes + (self.max_bytes - self.min_bytes) / 6 * ndtri(u)
        return np.asarray(np.clip(np.floor(sizes + 0.5), self.min_bytes, self.max_bytes))


@dataclass(frozen=True, slots=True)
class MedianSize:
    """Sizes between two bounds with a given median: min + (max - min) · u^k, where k gives the median at u = 1/2."""

    min_bytes: float
    median_bytes: float
    max_bytes: float

    def __post_init__(self) -> None:
        if not 0 <= self.min_bytes < self.median_bytes < self.max_bytes:
            raise InputError(
                f"value_size {self.median_bytes:g}, the median, must be above value_min {self.min_bytes:g} and below "
                f"value_max {self.max_bytes:g}"
            )

    @property
    def _exponent(self) -> float:
        return -math.log2((self.median_bytes - self.min_bytes) / (self.max_bytes - self.min_bytes))

    @property
    def mean_bytes(self) -> float:
        """Mean over uniform u: min + (max - min) / (1 + k)."""
        return self.min_bytes + (self.max_bytes - self.min_bytes) / (1.0 + self._exponent)

    def quantile(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sizes ascending in `u`."""
        return np.floor(self.min_bytes + (self.max_bytes - self.min_bytes) * u**self._exponent + 0.5)


@dataclass(frozen=True, slots=True)
class ParetoSize:
    """mixgraph's generalized Pareto sizes: ceil(theta + sigma · (u^-k - 1) / k) (behaviour/db-bench.md, mixgraph).

    Sizes below 10 B become 10 B and sizes above `max_bytes` are taken modulo `max_bytes`, as in db_bench: a few
    of the latter end below 10 B.
    """

    theta: float = 0.0
    k: float = 0.2615
    sigma: float = 25.45
    max_bytes: float = 1024.0
    min_bytes: float = 10.0

    def __post_init__(self) -> None:
        if self.sigma < 0 or self.max_bytes < 1:
            raise InputError("value_sigma must not be negative and mix_max_value_size must be at least 1")

    @property
    def mean_bytes(self) -> float:
        """Mean over uniform u, integrated numerically (the modulo has no closed form)."""
        return _pareto_mean(self)

    def quantile(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Size of the operation whose random fraction is `u`; descending in `u` up to the modulo."""
        u = np.maximum(u, 1e-18)
        with np.errstate(over="ignore"):  # u^-k may be infinite for the heaviest tails
            raw = -np.log(u) if self.k == 0 else (u**-self.k - 1) / self.k
        sizes = np.ceil(self.theta + self.sigma * np.minimum(raw, 1e15))
        small, large = sizes < self.min_bytes, sizes > self.max_bytes
        return np.where(small, self.min_bytes, np.where(large, np.mod(sizes, self.max_bytes), sizes))


@dataclass(frozen=True, slots=True)
class KeyedSizes:
    """Value sizes by key code: a key always has the same size, by a hash of its code.

    Codes of many keys (cold keys of a sampled run) have the mean size of these keys.
    """

    values: ValueSizes
    sampled: bool

    def single(self, codes: KeyArray) -> NDArray[np.bool_]:
        """Whether each code is a single key, with a size of its own. Shape (len(codes),)."""
        return (codes & 1) == 1 if self.sampled else np.ones(len(codes), dtype=np.bool_)

    def of(self, codes: KeyArray) -> NDArray[np.float64]:
        """Value sizes in bytes. Shape (len(codes),)."""
        u = ((splitmix_64(codes) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        sizes = self.values.quantile(u)
        return np.where(codes & 1, sizes, self.values.mean_bytes) if self.sampled else sizes


@lru_cache(maxsize=64)
def large_values(values: ValueSizes, least_bytes: float) -> LargeValues:
    """Return the share of values of at least `least_bytes` (and not empty), and the mean sizes on both sides.

    A distribution is integrated numerically, so the shares are right to about 1e-5.
    """
    edges = _edges()
    sizes, widths = values.quantile((edges[1:] + edges[:-1]) / 2), np.diff(edges)
    large = sizes >= max(1.0, least_bytes)
    share, rest = (float(widths[part].sum()) / float(widths.sum()) for part in (large, ~large))
    means = [
        float(np.sum(sizes[part] * widths[part]) / np.sum(widths[part])) if part.any() else 0.0 for part in (large, ~large)
    ]
    return LargeValues(1.0 if rest == 0.0 else share, *means)


def _edges() -> NDArray[np.float64]:
    """Edges of intervals of (0, 1): half evenly spaced, half on a log scale towards 0, where Pareto's sizes are largest."""
    return np.concatenate((np.geomspace(1e-12, 1e-3, 200_001), np.linspace(1e-3, 1.0, 200_001)[1:]))


@lru_cache(maxsize=64)
def _pareto_mean(sizes: ParetoSize) -> float:
    edges = _edges()
    widths = np.diff(edges)
    mean = float(np.sum(sizes.quantile((edges[1:] + edges[:-1]) / 2) * widths))
    if not math.isfinite(mean):
        raise InputError("value_theta, value_k and value_sigma: the mean value size is not finite; use a smaller value_k")
    return mean
