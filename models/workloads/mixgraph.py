"""db_bench's mixgraph: models of Facebook's production workloads, FAST'20 (behaviour/db-bench.md, mixgraph)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.units import quantity
from lsmlab.models.workloads.arrivals import Arrivals, ClosedLoop, Sine
from lsmlab.models.workloads.base import Clients, Mix, ScanLength, Workload
from lsmlab.models.workloads.choosers import Chooser, UniformKeys
from lsmlab.models.workloads.db_bench import DbBench
from lsmlab.models.workloads.key_ranges import RangedKeys, range_shares
from lsmlab.models.workloads.ranks import PowerLaw
from lsmlab.models.workloads.values import ParetoSize, ValueSizes

_LENGTHS: Final = 10_000
"""Quantiles by which the distribution of lengths of scans is sampled."""
DRAWING: Final = 1.2
"""CPU time of drawing a key by the power law, in units of `Host.write_op`: db_bench seeds a Mersenne Twister
(std::mt19937_64) for each key. Measured with puts only and without stalls, db_bench 7.8.3: 4.98 +- 0.34 us per operation
against 2.27 +- 0.04 us of fillrandom, five alternating runs of each."""


@dataclass(frozen=True, kw_only=True)
class MixGraph(DbBench):
    """Gets, puts and seeks by shares; keys by ranges and a power law; Pareto sizes; a sine rate.

    Sizes are generalized Pareto; `value_size` and its distribution have no effect.
    """

    reads: int | None = quantity("count", None, low=1)
    """Operations per thread instead of `num`."""
    use_existing_db: bool = True
    mix_get_ratio: float = quantity("ratio", 1.0)
    mix_put_ratio: float = quantity("ratio", 0.0)
    mix_seek_ratio: float = quantity("ratio", 0.0)
    mix_max_scan_len: int = quantity("count", 10_000, low=1)
    mix_max_value_size: float = quantity("bytes", 1024.0, low=1)
    key_dist_a: float = 0.0
    key_dist_b: float = 0.0
    keyrange_num: int = quantity("count", 1, low=1, high=100_000)
    keyrange_dist_a: float = 0.0
    keyrange_dist_b: float = 0.0
    keyrange_dist_c: float = 0.0
    keyrange_dist_d: float = 0.0
    value_theta: float = 0.0
    value_k: float = 0.2615
    value_sigma: float = 25.45
    iter_theta: float = 0.0
    iter_k: float = 2.517
    iter_sigma: float = 14.236
    sine_mix_rate: bool = False
    sine_mix_rate_interval_milliseconds: float = quantity("count", 10_000.0, low=1)
    sine_mix_rate_noise: float = quantity("ratio", 0.0, high=1.0)
    sine_a: float = 1.0
    sine_b: float = 1.0
    sine_c: float = 0.0
    sine_d: float = 1.0

    def values(self) -> ValueSizes:
        """Return generalized Pareto sizes."""
        return ParetoSize(self.value_theta, self.value_k, self.value_sigma, self.mix_max_value_size)

    @property
    def uses_law(self) -> bool:
        """Return whether keys follow the power law: db_bench draws them at random if `key_dist_a` or `_b` is 0."""
        return bool(self.key_dist_a and self.key_dist_b)

    @property
    def uses_ranges(self) -> bool:
        """Return whether some key ranges are hotter: this needs the power law and a keyrange_dist_* flag.

        The flags of the paper's prefix_random, ranges without a power law, give random keys in db_bench since 6.11
        (`Benchmark::MixGraph`; https://github.com/facebook/rocksdb/issues/8356).
        """
        flags = (self.keyrange_dist_a, self.keyrange_dist_b, self.keyrange_dist_c, self.keyrange_dist_d)
        return self.uses_law and any(flags)

    def keys(self, share: float = 1.0) -> tuple[Chooser, bool]:
        """Return the key chooser of a share of the operations, and whether half of its keys are outside 0 … num - 1.

        db_bench takes the kind of an operation from the random number that gives its key (`QueryDecider::GetType`).
        """
        if not self.uses_law:
            return UniformKeys(), False
        law = PowerLaw(self.key_dist_a, self.key_dist_b)
        if self.uses_ranges:
            shares = range_shares(
                self.keyrange_dist_a, self.keyrange_dist_b, self.keyrange_dist_c, self.keyrange_dist_d,
                self.keyrange_num,
            )  # fmt: skip
            return RangedKeys(shares, law, share), False
        # without ranges db_bench uses the hash as a signed number, and negative keys sort far after all others: there are
        # twice as many keys as random numbers
        return RangedKeys((1,), law, share / 2.0), True

    def scan_length(self) -> ScanLength:
        """Return Pareto lengths modulo mix_max_scan_len, without the lower bound of 10 B of value sizes."""
        law = ParetoSize(self.iter_theta, self.iter_k, self.iter_sigma, math.inf, min_bytes=0.0)
        with np.errstate(over="ignore", invalid="ignore"):  # then the lengths are not finite
            lengths = np.mod(law.quantile((np.arange(_LENGTHS) + 0.5) / _LENGTHS), float(self.mix_max_scan_len))
        if not np.isfinite(lengths).all():
            raise InputError("iter_theta, iter_k and iter_sigma: lengths of scans are not finite; use smaller values")
        return ScanLength.of(lengths)

    def arrivals(self) -> Arrivals:
        """Return a closed loop, or the sine rate.

        db_bench's threads stay a closed loop under the sine rate, which only slows them down. Here the sine rate is an
        open loop, so that latencies include the queue of a store that cannot keep up.
        """
        if not self.sine_mix_rate:
            return ClosedLoop()
        interval_s = self.sine_mix_rate_interval_milliseconds / 1000.0
        return Sine(self.sine_a, self.sine_b, self.sine_c, self.sine_d, interval_s, self.sine_mix_rate_noise)

    def workload(self) -> Workload:
        """Return the workload."""
        ratios = np.array([self.mix_get_ratio, self.mix_put_ratio, self.mix_seek_ratio])
        if ratios.sum() <= 0:
            raise InputError("mix_get_ratio, mix_put_ratio, mix_seek_ratio: one of them must be above 0")
        get, put, seek = (ratios / ratios.sum()).tolist()
        keys, signed = self.keys(put or 1.0)
        read_keys, _ = self.keys(get + seek or 1.0)
        clients = Clients(
            "mixgraph", self.threads, Mix(read=get, update=put, scan=seek), self.arrivals(), write_keys=keys,
            read_keys=read_keys, scan_length=self.scan_length(), operations=self.operations(self.reads),
            client_work=DRAWING if self.uses_law else 0.0,
        )  # fmt: skip
        if isinstance(keys, RangedKeys):
            keys.range_size(self.num // self.shards)  # raises InputError for more ranges than keys
        workload = self.make("mixgraph", clients, preload=self.use_existing_db)
        return replace(workload, population=2 * self.num) if signed else workload
