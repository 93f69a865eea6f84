"""Goal of an advice: the number to improve, and the limits to meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lsmlab.models.engines.make import make_engines
from lsmlab.models.errors import InputError
from lsmlab.models.units import format_bytes, parse_quantity
from lsmlab.sim.databases import one_config, read_databases, read_sharing
from lsmlab.sim.studies.intervals import is_saturating
from lsmlab.sim.studies.metrics import METRICS, OPEN_LOOP, Metric, value_of

GOALS: Final[Mapping[str, Metric]] = {
    name: next(m for m in METRICS if m.name == path)
    for name, path in (
        ("throughput", "ops_per_s"), ("p99", "write_latency_s.p99"), ("p999", "write_latency_s.p999"),
        ("longest_write", "write_latency_s.max"), ("read_p99", "read_latency_s.p99"), ("scan_p99", "scan_latency_s.p99"),
        ("stalled", "stall_fraction"), ("longest_stall", "longest_stall_s"), ("write_amp", "write_amplification"),
        ("space_amp", "space_amplification"), ("device_writes", "device.write_bytes_per_s"),
    )
}  # fmt: skip
"""Goals by name."""
_OF_CLOSED_LOOPS: Final[Mapping[str, Metric]] = dict(zip(("p99", "p999", "longest_write"), OPEN_LOOP, strict=True))
"""Metric of a goal where clients wait for the store, if it is another one."""


def goal_metric(name: str, *, closed: bool) -> Metric:
    """Return the metric of a goal. `closed`: whether clients send each operation when the previous one returns."""
    return _OF_CLOSED_LOOPS.get(name, GOALS[name]) if closed else GOALS[name]


@dataclass(frozen=True, slots=True)
class GoalLimits:
    """Limits that an advice must meet."""

    memory_bytes: float | None = None
    """Maximum of memtables and block cache."""
    at_most: Mapping[str, float] = field(default_factory=dict)
    """Maximum of metrics, by goal name, in base units."""
    closed: bool = False
    """Whether clients send each operation when the previous one returns (`goal_metric`)."""

    def broken(self, summary: Mapping[str, Any], memory: float) -> str | None:
        """Return the limit that a run breaks, in words; None if it meets all."""
        if self.memory_bytes is not None and memory > self.memory_bytes:
            return "memory"
        for name, most in self.at_most.items():
            value = value_of(summary, self.metric(name).name)
            if value is not None and value > most:
                return name
        return None

    def metric(self, name: str) -> Metric:
        """Return the metric that a limit bounds."""
        return goal_metric(name, closed=self.closed)


def read_goal(name: str | None, config: Mapping[str, Any]) -> str:
    """Return the name of the goal. Default: throughput where clients write at full speed, otherwise the write P99.9."""
    if name is None:
        return "throughput" if is_saturating(config) else "p999"
    if name not in GOALS:
        raise InputError(f"--goal {name}: no such goal; choose one of {', '.join(GOALS)}")
    return name


def read_limits(memory: str | None, at_most: Sequence[str], *, closed: bool = False) -> GoalLimits:
    """Read `--memory 2GiB` and `--at-most space_amp=1.5`. Raises InputError that names the option."""
    bounds: dict[str, float] = {}
    for text in at_most:
        name, equals, value = text.partition("=")
        if name not in GOALS or not equals:
            raise InputError(f"--at-most {text}: write GOAL=VALUE with one of {', '.join(GOALS)}")
        bounds[name] = _quantity(value, f"--at-most {text}")
    try:
        size = parse_quantity(memory, "bytes") if memory is not None else None
    except InputError as error:
        raise InputError(f"--memory {memory}: {error}") from None
    return GoalLimits(size, bounds, closed)


def limits_text(limits: GoalLimits) -> str:
    """Return limits in words."""
    size = limits.memory_bytes
    bounds = [f"memtables and block cache at most {format_bytes(size)}"] if size is not None else []
    bounds += [f"{limits.metric(name).label} at most {GOALS[name].form(most)}" for name, most in limits.at_most.items()]
    return "; ".join(bounds)


def _quantity(value: str, where: str) -> float:
    for kind in ("seconds", "ratio", "bytes_per_s", "per_s"):
        try:
            return parse_quantity(value, kind)
        except InputError:
            continue
    raise InputError(f"{where}: {value!r} is not a number with a unit such as 10ms, 20% or 1.5")


def memory_bytes(config: Mapping[str, Any]) -> float:
    """Return the memory of a store's memtables, block and blob caches: all memtables of all families and databases full."""
    sharing = read_sharing(config)
    stores: list[tuple[Mapping[str, Any], int]]
    stores = [(one_config(config, entry), entry.count) for entry in read_databases(config).values()] or [(config, 1)]
    memtables = cache = blob_caches = 0.0
    for own, count in stores:
        engines = [engine.options for engine in make_engines(own["engine"], ()).values()]
        full = sum(o.write_buffer_size * o.max_write_buffer_number for o in engines)
        limit = engines[0].db_write_buffer_size
        memtables += count * (min(full, limit) if limit else full)
        cache += count * max(o.cache_size for o in engines)
        blob_caches += count * sum(o.blob_cache_size for o in engines if o.use_blob_cache)
    if sharing.write_buffer_manager is not None:
        memtables = min(memtables, sharing.write_buffer_manager)
    if sharing.block_cache is not None:
        cache = sharing.block_cache
    return float(memtables) + cache - (memtables if sharing.cost_to_cache else 0.0) + blob_caches
