"""Load in a trace of operations: rates, mix, keys and sizes, each fitted by a named distribution whose errors are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.traces.operations import Kind, Operations
from lsmlab.models.workloads.fitted_keys import Check, KeyFit, fit_keys
from lsmlab.models.workloads.replay import rates, value_sizes
from lsmlab.models.workloads.trace import operations_in
from lsmlab.models.workloads.values import FixedSize, MedianSize, ParetoSize, ValueSizes
from lsmlab.validation.importer.reading import Floats
from numpy.typing import NDArray

_QUANTILES: Final = {"P10": 0.1, "P50": 0.5, "P90": 0.9, "P99": 0.99}
_MEAN_ERROR: Final = 0.02
"""Largest error of the mean size with which a distribution is taken; otherwise all values have the mean size."""
_POOR: Final = 0.25
"""Error of a fit above which a note warns of it."""
_SAME: Final = 0.01
"""Distance of the quantiles of sizes, as a share of the mean, below which all have one size."""
_PARETO_MOST: Final = 1024
"""Largest size of the Pareto sizes of a generic workload, which takes larger ones modulo this."""
_MIX: Final = {Kind.GET: "read", Kind.PUT: "update", Kind.MERGE: "update", Kind.DELETE: "delete", Kind.SEEK: "scan"}
"""Setting of a workload by kind; range deletes have none."""
WORDS: Final = {
    Kind.GET: "gets", Kind.PUT: "puts", Kind.MERGE: "merges", Kind.DELETE: "deletes", Kind.SEEK: "seeks",
    Kind.RANGE_DELETE: "range deletes",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SizeFit:
    """Fitted sizes of values."""

    distribution: str
    """fixed, median (between bounds) or pareto."""
    keys: Mapping[str, float]
    """Keys of the workload group."""
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class TraceLoad:
    """Load of a trace; `population`: keys of the store, if another source tells them."""

    path: Path
    operations: Operations
    population: int | None = None
    memtable_entries: int | None = None

    @property
    def counts(self) -> dict[Kind, int]:
        """Operations by kind."""
        return self.operations.counts()

    @property
    def writes(self) -> int:
        """Entries written, deletes included."""
        return sum(self.counts.get(kind, 0) for kind in (Kind.PUT, Kind.MERGE, Kind.DELETE))

    def per_s(self, *kinds: Kind) -> float | None:
        """Return the rate of operations of these kinds; None for a trace without times."""
        length_s = self.operations.length_s
        return sum(self.counts.get(kind, 0) for kind in kinds) / length_s if length_s else None

    @property
    def writes_per_s(self) -> float | None:
        """Entries written per second; None for a trace without times."""
        return self.per_s(Kind.PUT, Kind.MERGE, Kind.DELETE)

    @cached_property
    def write_fit(self) -> KeyFit | None:
        """Distribution of the keys of puts and merges, or of deletes without these; None for a trace without writes."""
        puts = self.counts.keys() & {Kind.PUT, Kind.MERGE}
        chosen = self.operations.key[self.operations.of(*(puts or {Kind.DELETE}))]
        return fit_keys(chosen, self.population, self.memtable_entries, writes=bool(puts)) if len(chosen) else None

    @cached_property
    def read_fit(self) -> KeyFit | None:
        """Distribution of the keys of gets and seeks; None without any."""
        chosen = self.operations.key[self.operations.of(Kind.GET, Kind.SEEK)]
        known = self.population or self._written_keys
        return fit_keys(chosen, known) if len(chosen) else None

    @property
    def _written_keys(self) -> int | None:
        """Number of keys that the repetitions of writes show."""
        fit = self.write_fit
        return fit.population if fit is not None and fit.population_known else None

    @cached_property
    def sizes(self) -> SizeFit | None:
        """Sizes of values; None if the trace has none."""
        sizes = value_sizes(self.operations)
        return fit_sizes(sizes) if len(sizes) else None

    @cached_property
    def rows(self) -> tuple[Floats, Floats]:
        """Starts in s and operations per second of the trace; empty without times."""
        times_s = self.operations.time_s
        return (np.empty(0), np.empty(0)) if times_s is None else rates(times_s, self.operations.length_s or 0.0)

    def workload_keys(self) -> dict[str, Any]:
        """Return the keys of the workload group: proportions, keys and sizes."""
        writes, reads = self.write_fit, self.read_fit
        shares = dict.fromkeys(("read", "update", "insert", "delete", "scan"), 0.0)
        for kind, name in _MIX.items():
            shares[name] += self.counts.get(kind, 0) / len(self.operations)
        if writes is not None and writes.distribution.startswith("insert"):
            shares["insert"], shares["update"] = shares["update"], 0.0
        keys: dict[str, Any] = {name: round(share, 6) for name, share in shares.items()}
        keys["scan_length"] = 1
        keys |= {"key_size": max(1.0, round(float(np.mean(self.operations.key_bytes)), 2))}
        keys |= self.sizes.keys if self.sizes is not None else {}
        return keys | _key_space(writes, reads, max(self.population or 0, self.operations.keys))

    def facts(self) -> dict[str, Any]:
        """Return what the trace tells, for summary.json."""
        operations = self.operations
        return {
            "file": str(self.path), "form": operations.form, "operations": len(operations), "keys": operations.keys,
            "duration_s": operations.length_s, "complete": operations.complete,
            "kinds": [
                {"kind": WORDS[kind], "count": count, "share": count / len(operations), "per_s": self.per_s(kind)}
                for kind, count in self.counts.items()
            ],
            "families": len(operations.families),
            "writes": _fit_facts(self.write_fit), "reads": _fit_facts(self.read_fit),
            "sizes": None if self.sizes is None else {
                "distribution": self.sizes.distribution, "parameters": dict(self.sizes.keys), "checks": _rows(self.sizes.checks),
            },
            "notes": self.notes(),
        }  # fmt: skip

    def notes(self) -> list[str]:
        """Return what the trace does not tell, one sentence each."""
        found = list(self.operations.notes)
        if Kind.SEEK in self.counts:
            found.append("a trace does not contain the entries after a seek; workload.scan_length is 1")
        for what, fit in (("writes", self.write_fit), ("reads", self.read_fit)):
            if fit is not None and not fit.population_known and not fit.distribution.startswith("insert"):
                found.append(f"{what}: too few keys repeat to show their number; {fit.population:,} is the least")
        for what, fit in (("writes", self.write_fit), ("reads", self.read_fit)):
            if fit is not None and (worst := max((abs(check.error) for check in fit.checks), default=0.0)) > _POOR:
                found.append(
                    f"{what}: no distribution fits the keys (errors up to {worst:.0%}); repeat the operations themselves instead"
                )
        if self.sizes is None:
            found.append("the trace contains no size of a value; set workload.value_size")
        if len(self.operations.families) > 1:
            found.append(f"operations of {len(self.operations.families)} column families are one load")
        if Kind.RANGE_DELETE in self.counts:
            found.append(f"{self.counts[Kind.RANGE_DELETE]:,} range deletes are left out")
        return found


def read_trace_load(path: Path) -> TraceLoad | None:
    """Return the load of a trace; None for a file that is none. Raises InputError if it is damaged."""
    operations = operations_in(path)
    return None if operations is None else TraceLoad(path, operations)


def fit_sizes(sizes: NDArray[np.int64]) -> SizeFit:
    """Fit the sizes of values by the distribution of a generic workload with the smallest error of their quantiles."""
    mean, low, median, high = float(np.mean(sizes)), float(sizes.min()), float(np.median(sizes)), float(sizes.max())
    candidates: list[tuple[str, ValueSizes, dict[str, float]]] = [("fixed", FixedSize(mean), {"value_size": round(mean, 2)})]
    if high - low > _SAME * mean:
        if low < median < high:
            keys = {"value_size": median, "value_min": low, "value_max": high}
            candidates.append(("median", MedianSize(low, median, high), keys))
        if high <= _PARETO_MOST and (pareto := _pareto(median, float(np.quantile(sizes, 0.9)))) is not None:
            k, sigma = pareto
            candidates.append(("pareto", ParetoSize(k=k, sigma=sigma), {"value_k": round(k, 4), "value_sigma": round(sigma, 3)}))
    fits = [SizeFit(name, keys, _size_checks(sizes, mean, values)) for name, values, keys in candidates]
    good = [fit for fit in fits if abs(fit.checks[0].error) <= _MEAN_ERROR]
    return min(good, key=lambda fit: sum(abs(check.error) for check in fit.checks))


def _pareto(median: float, high: float) -> tuple[float, float] | None:
    """Return k and sigma of the Pareto sizes with this median and this 90 % quantile; None if there are none."""
    if not 0.0 < median < high:
        return None
    low_k, high_k = 1e-3, 5.0
    for _ in range(60):
        k = (low_k + high_k) / 2
        ratio = (10.0**k - 1.0) / (2.0**k - 1.0)
        low_k, high_k = (k, high_k) if ratio < high / median else (low_k, k)
    return (k, median * k / (2.0**k - 1.0)) if 2e-3 < k < 4.9 else None


def _size_checks(sizes: NDArray[np.int64], mean: float, values: ValueSizes) -> tuple[Check, ...]:
    drawn = values.quantile((np.arange(10_000) + 0.5) / 10_000)
    rows = [Check("mean size of a value", mean, float(np.mean(drawn)))]
    rows += [
        Check(f"{name} of the sizes of values", float(np.quantile(sizes, part)), float(np.quantile(drawn, part)))
        for name, part in _QUANTILES.items()
    ]
    return tuple(rows)


def _key_space(writes: KeyFit | None, reads: KeyFit | None, population: int) -> dict[str, Any]:
    """Return number and distribution of the keys as keys of the workload group; `population`: least number of keys."""
    fits = [fit for fit in (writes, reads) if fit is not None]
    total = max([*(fit.population for fit in fits), population])
    first = writes if writes is not None and not writes.distribution.startswith("insert") else reads
    keys: dict[str, Any] = {"num": total, "preload": 1.0}
    if first is not None:
        keys |= _distribution(first, "")
        if reads is not None and _distribution(reads, "") != _distribution(first, ""):
            keys |= _distribution(reads, "read_")
    if writes is not None and writes.distribution.startswith("insert"):
        before = 0 if reads is None else reads.population
        keys |= {
            "num": math.ceil(max(total, before + writes.operations)), "insert_keys":
            "ordered" if writes.distribution == "insert_ordered" else "hashed",
        }  # fmt: skip
        keys["preload"] = round(1.0 - writes.operations / keys["num"], 6)
    return keys


def _distribution(fit: KeyFit, prefix: str) -> dict[str, Any]:
    if fit.constant is None:
        return {f"{prefix}distribution": "uniform"}
    return {f"{prefix}distribution": fit.distribution, f"{prefix}zipfian_constant": round(fit.constant, 3)}


def _fit_facts(fit: KeyFit | None) -> dict[str, Any] | None:
    if fit is None:
        return None
    return {
        "operations": fit.operations, "keys": fit.keys, "distribution": fit.distribution, "zipfian_constant": fit.constant,
        "population": fit.population, "population_known": fit.population_known, "checks": _rows(fit.checks),
    }  # fmt: skip


def _rows(checks: Sequence[Check]) -> list[dict[str, Any]]:
    return [
        {"name": one.name, "trace": one.recorded, "fit": one.fitted, "error": one.error if math.isfinite(one.error) else None}
        for one in checks
    ]


def per_write(load: TraceLoad, write_rate_per_s: float | None) -> tuple[float, float] | None:
    """Return (gets, seeks) per entry written; None if neither the trace nor `write_rate_per_s`, of another source, tells it.

    A sampled trace has as small a part of the reads as of the writes. A trace without writes was filtered, or is one of a time
    without writes; its reads then belong to the writes of the other source.
    """
    gets, seeks = (load.counts.get(kind, 0) for kind in (Kind.GET, Kind.SEEK))
    if load.writes:
        return gets / load.writes, seeks / load.writes
    length_s = load.operations.length_s
    if not length_s or not write_rate_per_s:
        return None
    return gets / length_s / write_rate_per_s, seeks / length_s / write_rate_per_s


def settings_beside_log(load: TraceLoad) -> dict[str, Any]:
    """Return the keys of the workload group that a trace tells better than a LOG: distributions of keys, and of sizes."""
    keys = load.workload_keys()
    names = ["scan_length"]
    if load.write_fit is None or not load.write_fit.distribution.startswith("insert"):
        names += ["num", "distribution", "zipfian_constant"]
    names += ["read_distribution", "read_zipfian_constant"]
    if load.sizes is not None and load.sizes.distribution != "fixed":
        names += list(load.sizes.keys)
    return {name: keys[name] for name in names if name in keys}
