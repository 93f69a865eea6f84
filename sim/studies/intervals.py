"""Intervals for the real store: what a run knows of its own error, the learnt error of its kind, and the interval.

One definition for every command (docs/background/confidence.md). `configs/model_errors.json` has the errors of the recorded
runs by kind: quantity, knowledge of the machine, class of the drive. An error is real minus simulated on the scale of its
quantity, divided by the width that the run itself gives; the file has the shortest range of it with 90 % of the values. So the
interval of a run that knows little of itself is wide, and that of another one of the same kind narrow.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from lsmlab.models.devices.make import device_class_of
from lsmlab.models.errors import InputError
from lsmlab.models.workloads.arrivals import ClosedLoop
from lsmlab.models.workloads.make import make_workload
from lsmlab.sim.studies.statistics import variance

MODEL_ERRORS: Final = Path(str(files("lsmlab.configs"))) / "model_errors.json"
"""Written by `lsmlab validate --write-docs` (validation/scorecard/model_errors.py)."""
ALWAYS, CPU_BOUND, DRIVE_BOUND, BETWEEN, SYNCED, FEW_JOBS, CHANGED, SEEDS, CONSTANTS = (
    "always", "cpu_bound", "drive_bound", "between", "synced", "few_jobs", "changed", "seeds", "constants",
)  # fmt: skip
WIDENING: Final[Mapping[str, str]] = {
    ALWAYS: "1",
    CPU_BOUND: "share of the time without stalls, if clients write or read as fast as the store allows: the processor decides",
    DRIVE_BOUND: "share of the time in stalls, without a cap or rate limiter: the drive's own speed decides",
    BETWEEN: "4 s (1 - s) with the stalled share s: largest where stalls and processor share the time",
    SYNCED: "1 if writes wait for an fsync of the WAL",
    FEW_JOBS: "1 / sqrt(flushes + compactions): the chance in a count of jobs",
    CHANGED: "1 if options, load or limits differ from those of the LOG that gave the machine",
    SEEDS: "standard deviation between seeds, on the scale of the quantity",
    CONSTANTS: "half the difference of the two runs with shifted constants, on the scale of the quantity",
}
"""What widens an error, by name: the value of which the run knows."""
IMPORTED_SET: Final = "imported"
"""Name of the parameter set and of the device that `lsmlab import` writes."""
BUCKET: Final = math.log(1.5)
"""Width of a bucket of RocksDB's histogram on the logarithmic scale: a real percentile is known to one bucket."""
RECIPROCAL: Final = "1/"
"""Prefix of the name of a quantity whose reciprocal was learnt."""
_CAPS: Final = ("write_cap", "read_cap", "iops_cap", "background_cap")


class Knowledge(StrEnum):
    """What is known of the machine."""

    MEASURED = "measured"
    """A parameter set of this machine and drive."""
    IMPORTED = "imported"
    """A parameter set from one LOG of the machine."""
    CATALOGUE = "catalogue"
    """The drive's data sheet and the default host."""


_LEAST: Final = {"write_amplification": 1.0}
"""Least value that a quantity has by its definition; a store of ingested files may have less."""


class Scale(StrEnum):
    """How real and simulated values of a quantity are compared."""

    RATIO = "ratio"
    """Logarithm of their ratio."""
    LATENCY = "latency"
    """The same; both ends of an interval are at least one bucket away."""
    POINTS = "points"
    """Difference of two shares, which stay between 0 and 1."""

    def place(self, value: float) -> float | None:
        """Return the place of a value on the scale; None for a value that has none, such as 0 on a logarithmic one."""
        if self is Scale.POINTS:
            return value
        return math.log(value) if value > 0.0 else None

    def at(self, place: float) -> float:
        """Return the value at a place of the scale."""
        return min(1.0, max(0.0, place)) if self is Scale.POINTS else math.exp(place)


@dataclass(frozen=True, slots=True)
class ErrorRange:
    """90 % range of real minus simulated, on the scale of a quantity: `low` is at most 0, `high` at least 0."""

    low: float
    high: float

    def factors(self) -> tuple[float, float]:
        """Return the ends as factors of the simulated value, of a quantity on a logarithmic scale."""
        return math.exp(self.low), math.exp(self.high)


@dataclass(frozen=True)
class LearntError:
    """Errors of one kind of recorded runs: a quantity, what is known of the machine, a class of drives."""

    metric: str
    scale: Scale
    knowledge: Knowledge
    device: str | None
    """Class of the drive; None: all classes."""
    values: int
    """Number of recorded values from which it was learnt."""
    weights: Mapping[str, float]
    """Width per unit of what widens an error (`WIDENING`)."""
    typical: Mapping[str, float]
    """Medians over the recorded runs: they count where a run does not know its own value, as one seed its spread."""
    low: float
    """Smallest error / width of the shortest range with 90 % of the values, at most 0."""
    high: float
    """Largest error / width of that range, at least 0."""
    change: float = 1.0
    """Ratio of the error of a change between two runs of one machine to that of two independent errors (90 % quantile)."""

    def width(self, known: Mapping[str, float]) -> float:
        """Return the width of a run's error, from what the run knows."""
        return math.fsum(
            weight * (1.0 if name == ALWAYS else known.get(name, self.typical.get(name, 0.0)))
            for name, weight in self.weights.items()
        )

    def range(self, known: Mapping[str, float]) -> ErrorRange:
        """Return the 90 % range of the error of a run."""
        width, floor = self.width(known), BUCKET if self.scale is Scale.LATENCY else 0.0
        return ErrorRange(min(-floor, self.low * width), max(floor, self.high * width))


@dataclass(frozen=True)
class RunFacts:
    """What a run knows of its own error."""

    knowledge: Knowledge | None = None
    """None: the configuration is unknown."""
    device: str | None = None
    """Class of the drive: nvme, sata, hdd, pmem or cloud; None for another one."""
    known: Mapping[str, float] = field(default_factory=dict)
    """Values of `WIDENING`, except those of a quantity (`spread`)."""


def facts_of(config: Mapping[str, Any], summary: Mapping[str, Any], *, changed: bool = True) -> RunFacts:
    """Return what a run knows of its own error. `changed`: whether it differs from the LOG that gave its machine, if any."""
    knowledge = knowledge_of(config)
    known = {CHANGED: float(changed and knowledge is Knowledge.IMPORTED)}
    workload = config.get("workload") or {}
    known[SYNCED] = float(workload.get("sync") is True)
    stalled, flushes, compactions = (summary.get(name) for name in ("stall_fraction", "flush_count", "compaction_count"))
    if stalled is not None:
        known[BETWEEN] = 4.0 * stalled * (1.0 - stalled)
        known[DRIVE_BOUND] = stalled * float(not is_capped(config))
        if workload:
            known[CPU_BOUND] = (1.0 - stalled) * float(is_saturating(config))
    if flushes is not None and compactions is not None:
        known[FEW_JOBS] = 1.0 / math.sqrt(max(1.0, flushes + compactions))
    return RunFacts(knowledge, device_class(config), known)


def is_saturating(config: Mapping[str, Any]) -> bool:
    """Whether some clients send each operation when the previous one returns, without a limit on their rate."""
    workload = make_workload(config["workload"], ("lsmlab",))
    return any(
        isinstance(c.arrivals, ClosedLoop) and not c.arrivals.limit_bytes_per_s and not c.arrivals.limit_ops_per_s
        for c in workload.clients
    )


def is_capped(config: Mapping[str, Any]) -> bool:
    """Whether the owner of the store has set how fast it may write: a cap of the device or of a limit, or RocksDB's limiter."""
    engine, device, limits = (config.get(group) or {} for group in ("engine", "device", "limits"))
    caps = [of.get(name) for of in (device, limits) for name in _CAPS]
    return any(cap is not None for cap in caps) or bool((engine.get("options") or {}).get("rate_limiter_bytes_per_sec"))


def knowledge_of(config: Mapping[str, Any]) -> Knowledge | None:
    """Return what is known of the machine of a configuration; None for nothing, for an empty one, and for several devices.

    No store on several devices was recorded, so the error of its numbers is not known.

    A parameter set counts only with the drive for which it was applied: another drive is known from its data sheet alone. The
    errors of imported stores are those of LOGs that show options and machine.
    """
    if not config or config.get("cold_device") or config.get("wal_device"):
        return None
    name, drive = (config.get("host") or {}).get("parameters"), (config.get("device") or {}).get("name")
    constants = config.get("parameters") or {}
    if name == drive == IMPORTED_SET:
        shown = (config.get("engine") or {}).get("options_file") and not constants.get("empty")
        return Knowledge.IMPORTED if shown else None
    applied = constants.get("drive")
    return Knowledge.MEASURED if name is not None and applied is not None and applied == drive else Knowledge.CATALOGUE


def device_class(config: Mapping[str, Any]) -> str | None:
    """Return the class of the drive of a configuration; None for one that LSMLab does not have."""
    kind = device_class_of(config["device"]) if config.get("device") else "other"
    return None if kind == "other" else kind


def spread(scale: Scale, values: Sequence[float], pair: Sequence[float] = ()) -> dict[str, float]:
    """Return the spread of a quantity between seeds and between shifted constants (`pair`), as far as it is known."""
    places, shifted = [scale.place(v) for v in values], [scale.place(v) for v in pair]
    found = {}
    if len(places) > 1 and None not in places:
        found[SEEDS] = math.sqrt(variance([p for p in places if p is not None]))
    if len(shifted) == 2 and shifted[0] is not None and shifted[1] is not None:
        found[CONSTANTS] = 0.5 * abs(shifted[0] - shifted[1])
    return found


def centre(scale: Scale, values: Sequence[float]) -> float | None:
    """Return the place of the prediction from all seeds: the mean, or the median for latencies, which have outliers."""
    places = [scale.place(v) for v in values]
    known = [place for place in places if place is not None]
    if not known or len(known) < len(places):
        return None
    return statistics.median(known) if scale is Scale.LATENCY else math.fsum(known) / len(known)


@dataclass(frozen=True)
class ModelErrors:
    """Learnt errors of all kinds."""

    learnt: Mapping[tuple[str, Knowledge, str | None], LearntError]

    @staticmethod
    def of(several: Sequence[LearntError]) -> ModelErrors:
        """Return a collection of learnt errors."""
        return ModelErrors({(one.metric, one.knowledge, one.device): one for one in several})

    def find(self, metric: str, facts: RunFacts) -> LearntError | None:
        """Return the error of a kind, else that of all drives with this knowledge; None if neither was learnt.

        A `metric` 1/NAME is the reciprocal of NAME, whose logarithm has the opposite error.
        """
        if facts.knowledge is None:
            return None
        name = metric.removeprefix(RECIPROCAL)
        found = self.of_kind(name, facts.knowledge, facts.device)
        return found if found is None or name == metric else replace(found, low=-found.high, high=-found.low)

    def of_kind(self, metric: str, knowledge: Knowledge, device: str | None) -> LearntError | None:
        """Return the error of a kind, else that of all drives with this knowledge; None if neither was learnt."""
        kinds = [(metric, knowledge, of) for of in dict.fromkeys((device, None))]
        return next((self.learnt[kind] for kind in kinds if kind in self.learnt), None)

    def range(
        self, metric: str, facts: RunFacts, values: Sequence[float] = (), pair: Sequence[float] = ()
    ) -> ErrorRange | None:
        """Return the 90 % range of a run's error; None if none was learnt. `values`, `pair`: see `interval`."""
        learnt = self.find(metric, facts)
        return None if learnt is None else learnt.range({**facts.known, **spread(learnt.scale, values, pair)})

    def interval(
        self, metric: str, facts: RunFacts, values: Sequence[float], pair: Sequence[float] = ()
    ) -> tuple[float, float] | None:
        """Return the 90 % interval for the value of the real store; None if the error is not known.

        `values`: one simulated value per seed; `pair`: those of the two runs with shifted constants, if any.
        """
        learnt, error = self.find(metric, facts), self.range(metric, facts, values, pair)
        middle = None if learnt is None else centre(learnt.scale, values)
        if learnt is None or error is None or middle is None:
            return None
        least = min(_LEAST.get(metric, 0.0), *values, math.inf)
        return max(learnt.scale.at(middle + error.low), least), learnt.scale.at(middle + error.high)

    def change(self, metric: str, before: RunFacts, after: RunFacts, values: Sequence[Sequence[float]],
               pairs: Sequence[Sequence[float]] = ((), ())) -> ErrorRange | None:  # fmt: skip
        """Return the 90 % range of the error of a change between two runs; None if one of their errors is not known.

        `values`, `pairs`: of the run before and of that after.
        """
        kinds = [self.find(metric, facts) for facts in (before, after)]
        ranges = [self.range(metric, facts, *own) for facts, *own in zip((before, after), values, pairs, strict=True)]
        if kinds[0] is None or kinds[1] is None or ranges[0] is None or ranges[1] is None:
            return None
        return of_change(ranges[0], ranges[1], max(kinds[0].change, kinds[1].change))


def of_change(before: ErrorRange, after: ErrorRange, factor: float) -> ErrorRange:
    """Return the range of the error of a change; `factor` 1 is that of two independent errors."""
    return ErrorRange(-factor * math.hypot(after.low, before.high), factor * math.hypot(after.high, before.low))


@cache
def read_model_errors(path: Path = MODEL_ERRORS) -> ModelErrors:
    """Return the published errors; none without the file. Raises InputError if it is unreadable."""
    if not path.is_file():
        return ModelErrors({})
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["errors"]
        return ModelErrors.of([
            LearntError(**{**row, "scale": Scale(row["scale"]), "knowledge": Knowledge(row["knowledge"])}) for row in rows
        ])  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); 'lsmlab validate --write-docs' writes it") from None
