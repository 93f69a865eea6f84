"""YCSB's core workloads, with its properties as names (site.ycsb.workloads.CoreWorkload).

Record and operation counts are totals, not per thread. YCSB's throttle (`target`) is a closed loop in YCSB unless
measurement.interval=intended; here `target` is an open loop at a constant rate, so that latency counts from the
intended start (no coordinated omission).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.tree.key_order import Hashed, KeyOrder, Ordered
from lsmlab.models.units import quantity
from lsmlab.models.workloads.arrivals import Arrivals, ClosedLoop, ConstantRate
from lsmlab.models.workloads.base import Clients, Mix, ScanLength, Workload, WorkloadSettings, share_notes
from lsmlab.models.workloads.choosers import Chooser, UniformKeys
from lsmlab.models.workloads.ranks import YCSB_CONSTANT, YCSB_SCRAMBLED_ITEMS, Exponential, Hotspot, Zipf
from lsmlab.models.workloads.skewed import RankedKeys, RecentKeys
from lsmlab.models.workloads.values import FixedSize

INSERT_ROOM = 2.0
"""Keys of the key space per record, for inserts over a duration instead of an operation count: an assumption, with room
for one insert per record. Further inserts get places between existing keys."""

_LENGTHS: Final = 1000
"""Quantiles by which uniform lengths of scans are sampled."""


class Requests(Enum):
    """Values of requestdistribution."""

    UNIFORM = "uniform"
    ZIPFIAN = "zipfian"
    LATEST = "latest"
    HOTSPOT = "hotspot"
    EXPONENTIAL = "exponential"
    SEQUENTIAL = "sequential"


class InsertOrder(Enum):
    """Values of insertorder: hashed keys, or keys in ascending order."""

    HASHED = "hashed"
    ORDERED = "ordered"


class ScanLengths(Enum):
    """Values of scanlengthdistribution."""

    UNIFORM = "uniform"
    ZIPFIAN = "zipfian"


@dataclass(frozen=True, kw_only=True)
class Ycsb(WorkloadSettings):
    """Core workload. The proportions are relative: the model divides them by their sum, as YCSB does."""

    name: str = "ycsb"
    recordcount: int = quantity("count", 1_000_000, low=1)
    """Records in the store (with `load`: records to insert)."""
    operationcount: int | None = quantity("count", 1_000_000, low=1)
    """Operations of all threads; None runs for `duration`."""
    readproportion: float = quantity("ratio", 0.95)
    updateproportion: float = quantity("ratio", 0.05)
    insertproportion: float = quantity("ratio", 0.0)
    scanproportion: float = quantity("ratio", 0.0)
    readmodifywriteproportion: float = quantity("ratio", 0.0)
    requestdistribution: Requests = Requests.UNIFORM
    zipfian_constant: float = YCSB_CONSTANT
    """Skew of zipfian and latest; a constant in YCSB's code."""
    hotspotdatafraction: float = quantity("ratio", 0.2, high=1.0)
    hotspotopnfraction: float = quantity("ratio", 0.8, high=1.0)
    insertorder: InsertOrder = InsertOrder.HASHED
    minscanlength: int = quantity("count", 1, low=1)
    maxscanlength: int = quantity("count", 1000, low=1, high=10_000_000)
    scanlengthdistribution: ScanLengths = ScanLengths.UNIFORM
    fieldcount: int = quantity("count", 10, low=1)
    fieldlength: float = quantity("bytes", 100.0)
    value_size: float | None = quantity("bytes", None)
    """Value size instead of fieldcount · fieldlength."""
    key_size: float = quantity("bytes", 23.0, low=1)
    """Size of a key: "user" and a hash of about 19 digits."""
    threads: int = quantity("count", 1, low=1, high=10_000)
    target: float | None = quantity("per_s", None)
    """Operations per second of all threads, open loop; None or 0 for a closed loop at full speed."""
    load: bool = False
    """Whether this is the load phase, which only inserts all records into an empty store."""
    loaded: bool = True
    """Whether the store contains the records at the start. If not, uniform requests are to inserted records; without
    inserts, to any record, which may not exist yet."""
    duration: float | None = quantity("seconds", None)
    shards: int = quantity("count", 1, low=1, high=1000)
    shard_spread: float = quantity("ratio", 0.0)

    def proportions(self) -> dict[str, float]:
        """Return the proportions by kind of operation; YCSB divides them by their sum."""
        return {
            "read": self.readproportion, "update": self.updateproportion, "insert": self.insertproportion,
            "scan": self.scanproportion, "read_modify_write": self.readmodifywriteproportion,
        }  # fmt: skip

    def mix(self) -> Mix:
        """Return the fractions, which sum to 1."""
        if self.load:
            return Mix(insert=1.0)
        shares = self.proportions()
        total = sum(shares.values())
        if total <= 0:
            raise InputError("readproportion and the other proportions: one of them must be above 0")
        return Mix(**{name: share / total for name, share in shares.items()})

    def population(self, mix: Mix) -> int:
        """Number of records and of the inserts of the run."""
        if self.load or not mix.insert:
            return self.recordcount
        if self.operationcount is None or self.duration:
            return math.ceil(INSERT_ROOM * self.recordcount)
        return self.recordcount * self.loaded + math.ceil(self.operationcount * mix.insert)

    def requests(self, population: int) -> Chooser:
        """Return the keys of reads, updates and scans. Only `latest` and `exponential` include inserted records."""
        share = min(1.0, self.recordcount / population)
        kind = self.requestdistribution
        if kind is Requests.ZIPFIAN:
            # YCSB hashes the ranks of a law over 10^10 items to the records; here also with other constants
            return RankedKeys(Zipf(self.zipfian_constant, YCSB_SCRAMBLED_ITEMS), share=share)
        if kind is Requests.LATEST:
            return RecentKeys(Zipf(self.zipfian_constant))
        if kind is Requests.EXPONENTIAL:
            return RecentKeys(Exponential())
        if kind is Requests.HOTSPOT:
            law = Hotspot(self.hotspotdatafraction, self.hotspotopnfraction)
            return RankedKeys(law, scattered=False, share=share)
        if not self.loaded and self.mix().insert:
            return RecentKeys(Hotspot(1.0, 1.0))  # all inserted records are equally popular
        return UniformKeys(share=share)  # sequential requests access all records equally often too

    def scan_length(self) -> ScanLength:
        """Entries per scan."""
        low, high = self.minscanlength, self.maxscanlength
        if low > high:
            raise InputError(f"minscanlength {low} must not exceed maxscanlength {high}")
        if self.scanlengthdistribution is ScanLengths.UNIFORM:
            return ScanLength.of(low + (np.arange(_LENGTHS) + 0.5) / _LENGTHS * (high - low))
        ranks = np.arange(1.0, high - low + 2.0)
        return ScanLength.of(low - 1.0 + ranks, ranks**-YCSB_CONSTANT)

    def workload(self) -> Workload:
        """Return the workload."""
        mix = self.mix()
        population = self.population(mix)
        order: KeyOrder = Hashed() if self.insertorder is InsertOrder.HASHED else Ordered()
        arrivals: Arrivals = ConstantRate(self.target) if self.target else ClosedLoop()
        operations = self.recordcount if self.load else None if self.duration else self.operationcount
        requests = self.requests(population)
        clients = Clients(
            self.name, self.threads, mix, arrivals, write_keys=requests, read_keys=requests,
            scan_length=self.scan_length(), operations=operations,
        )  # fmt: skip
        size = self.fieldcount * self.fieldlength if self.value_size is None else self.value_size
        return Workload(
            self.name, (clients,), self.key_size, FixedSize(size), population=population,
            preload_keys=self.recordcount if self.loaded and not self.load else 0, duration_s=self.duration or None,
            shards=self.shards, shard_spread=self.shard_spread, key_order=order,
            notes=() if self.load else share_notes(self.proportions()),
        )  # fmt: skip
