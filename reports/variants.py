"""Numbers of a comparison of variants, and sentences that compare each combination with its parents."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.headline import FORMS
from lsmlab.sim.studies.metrics import BY_NAME, Metric, value_of
from lsmlab.sim.studies.statistics import interval

FILE: Final = "variants.json"


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure by which variants are compared."""

    metric: Metric
    title: str
    logarithmic: bool
    floor: float
    """Smallest relevant difference, in the unit of the measure."""

    @property
    def better(self) -> int:
        """1: more is better, -1: less is better."""
        return 1 if self.metric.higher_is_better else -1

    def text(self, value: float) -> str:
        """Format a value of the measure with its unit."""
        return FORMS[self.metric.unit](value)


MEASURES: Final = (
    Measure(BY_NAME["write_latency_s.p99"], "write P99", True, 1e-5),
    Measure(BY_NAME["stall_fraction"], "stall share", False, 0.005),
    Measure(BY_NAME["write_amplification"], "W-Amp", False, 0.05),
    Measure(BY_NAME["ops_per_s"], "throughput", False, 1.0),
)


@dataclass(frozen=True, slots=True)
class SeedMean:
    """Mean over seeds and its 90 % interval; of a single run, which gives no spread, its value alone."""

    value: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float], *, logarithmic: bool) -> SeedMean:
        """Compute mean and interval from one value per seed; if `logarithmic`, of their logarithms."""
        logs = logarithmic and min(values) > 0
        limits = interval([math.log(v) for v in values] if logs else list(values))
        mean, low, high = limits["mean"] or 0.0, limits["low"], limits["high"]
        if low is None or high is None:
            return SeedMean(values[0], values[0], values[0])
        if logs:
            return SeedMean(math.exp(mean), math.exp(low), math.exp(high))
        return SeedMean(mean, max(0.0, low), high)


@dataclass(frozen=True, slots=True)
class Variants:
    """A finished comparison of variants."""

    description: str
    names: tuple[str, ...]
    parents: Mapping[str, tuple[str, ...]]
    settings: tuple[str, ...]
    numbers: Mapping[tuple[str, str, str], SeedMean]
    """Numbers by (variant, setting, title of the measure)."""
    seeds: int
    """Largest number of runs of one variant in one setting."""

    @property
    def combinations(self) -> list[str]:
        """Variants that combine others, their parents."""
        return [name for name in self.names if self.parents.get(name)]


def read_variants(directory: Path) -> Variants:
    """Read the directory of a comparison of variants. Raises InputError if it has none."""
    try:
        about = json.loads((directory / FILE).read_text(encoding="utf-8"))
        rows = json.loads((directory / "runs.json").read_text(encoding="utf-8"))["runs"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{directory}: no comparison of variants here ({error}); 'lsmlab compare --variants NAME' writes one"
        ) from None
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["overrides"]["variant"], row["overrides"].get("setting", "")), []).append(row["summary"])
    results = {}
    for (name, setting), summaries in groups.items():
        for measure in MEASURES:
            values = [v for s in summaries if (v := value_of(s, measure.metric.name)) is not None]
            if values:
                results[name, setting, measure.title] = SeedMean.of(values, logarithmic=measure.logarithmic)
    return Variants(
        about["description"], tuple(about["variants"]), {k: tuple(v) for k, v in about["parents"].items()},
        tuple(about["settings"]) or ("",), results, max(map(len, groups.values()), default=0),
    )  # fmt: skip


def readings(comparison: Variants) -> list[str]:
    """Return a text per combination: measures that are better or worse than each parent's, and in how many settings."""
    return [f"{name}: {_reading(comparison, name)}." for name in comparison.combinations]


def _reading(comparison: Variants, name: str) -> str:
    settings = [s for s in comparison.settings if any((name, s, m.title) in comparison.numbers for m in MEASURES)]
    parts = []
    for parent in comparison.parents[name]:
        differences = "; ".join(words for m in MEASURES if (words := _against(comparison, name, parent, m)))
        parts.append(f"compared with {parent}, {differences or 'no difference'}")
    missing = [s for s in comparison.settings if s not in settings]
    return ". ".join(p[0].upper() + p[1:] if i else p for i, p in enumerate(parts)) + (
        f"; it did not run on {', '.join(missing)}" if missing else ""
    )


def _against(comparison: Variants, name: str, parent: str, measure: Measure) -> str:
    """Return text like "write P99 better in 3 of 8 settings (nvme high: 9.1 µs against 20 s)", or "" if alike."""
    better: list[tuple[float, str]] = []
    worse: list[tuple[float, str]] = []
    compared = 0
    for setting in comparison.settings:
        mine, other = (comparison.numbers.get((one, setting, measure.title)) for one in (name, parent))
        if mine is None or other is None:
            continue
        compared += 1
        side = _side(mine, other, other, measure)
        if side:
            size = abs(math.log(max(mine.value, 1e-12) / max(other.value, 1e-12)))
            (better if side > 0 else worse).append((size, f"{setting}: {_change(measure, mine, other)}".removeprefix(": ")))
    words = [
        f"{word} in {len(rows)} of {compared} settings ({max(rows)[1]})"
        for word, rows in (("better", better), ("worse", worse))
        if rows
    ]
    return f"{measure.title} {' and '.join(words)}" if words else ""


def against_parents(comparison: Variants, name: str, setting: str, measure: Measure) -> tuple[int, str] | None:
    """Compare a combination with all its parents: (1, 0 or -1, text with both values).

    1: better than every parent and the intervals do not overlap; -1: worse than every parent; 0: neither, without text.
    The text compares with the best parent for 1, with the worst parent for -1. None if a number is missing.
    """
    mine = comparison.numbers.get((name, setting, measure.title))
    parents = [comparison.numbers.get((p, setting, measure.title)) for p in comparison.parents[name]]
    present = [p for p in parents if p is not None]
    if mine is None or len(present) < len(parents):
        return None
    lowest, highest = min(present, key=lambda p: p.value), max(present, key=lambda p: p.value)
    side = _side(mine, lowest, highest, measure)
    return side, _change(measure, mine, lowest if side == -measure.better else highest) if side else ""


def _side(mine: SeedMean, lowest: SeedMean, highest: SeedMean, measure: Measure) -> int:
    """Return 1 if `mine` is better than both and the intervals do not overlap, -1 if it is worse than both, else 0."""
    if mine.high < lowest.low and lowest.value - mine.value > measure.floor:
        return -measure.better
    if mine.low > highest.high and mine.value - highest.value > measure.floor:
        return measure.better
    return 0


def _change(measure: Measure, mine: SeedMean, other: SeedMean) -> str:
    return f"{measure.text(mine.value)} against {measure.text(other.value)}"
