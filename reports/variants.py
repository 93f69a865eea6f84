"""The numbers of a comparison of variants, and what they say, by rule."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports import numbers
from lsmlab.sim.commands.replications import interval

FILE: Final = "variants.json"
_ALONE: Final = 0.02
"""Relative half width that a number of a single run is granted, which tells no spread."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One number by which variants are compared."""

    key: tuple[str, ...]
    title: str
    better: int
    """1: more is better, -1: less is."""
    logarithmic: bool
    floor: float
    """Differences below it mean nothing, in its unit."""

    def of(self, summary: Mapping[str, Any]) -> float | None:
        """Its value in a summary."""
        value: Any = summary
        for key in self.key:
            value = value.get(key) if isinstance(value, Mapping) else None
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None

    def text(self, value: float) -> str:
        """The value as people read it."""
        if self.key[-1] == "p99":
            return numbers.seconds(value)
        if self.key[-1] == "stall_fraction":
            return numbers.percent(value)
        return numbers.ratio(value) if self.key[-1] == "write_amplification" else numbers.per_second(value)


MEASURES: Final = (
    Measure(("write_latency_s", "p99"), "write P99", -1, True, 1e-5),
    Measure(("stall_fraction",), "stall share", -1, False, 0.005),
    Measure(("write_amplification",), "W-Amp", -1, False, 0.05),
    Measure(("ops_per_s",), "throughput", 1, False, 1.0),
)


@dataclass(frozen=True, slots=True)
class Number:
    """The mean over seeds and its 90 % interval; latencies on a logarithmic scale."""

    value: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float], *, logarithmic: bool) -> Number:
        """From the values of the seeds."""
        logs = logarithmic and min(values) > 0
        found = interval([math.log(v) for v in values] if logs else list(values))
        mean, low, high = found["mean"] or 0.0, found["low"], found["high"]
        if low is None or high is None:
            mean = values[0]
            return Number(mean, mean * (1 - _ALONE), mean * (1 + _ALONE))
        if logs:
            return Number(math.exp(mean), math.exp(low), math.exp(high))
        return Number(mean, max(0.0, low), high)


@dataclass(frozen=True, slots=True)
class Variants:
    """A finished comparison of variants."""

    description: str
    names: tuple[str, ...]
    parents: Mapping[str, tuple[str, ...]]
    settings: tuple[str, ...]
    numbers: Mapping[tuple[str, str, str], Number]
    """By variant, setting and the measure's title."""
    seeds: int
    """Most runs of one variant in one setting."""

    @property
    def combinations(self) -> list[str]:
        """Variants with parents."""
        return [name for name in self.names if self.parents.get(name)]


def read_variants(directory: Path) -> Variants:
    """A comparison's directory. Raises InputError if it holds none."""
    try:
        about = json.loads((directory / FILE).read_text(encoding="utf-8"))
        rows = json.loads((directory / "runs.json").read_text(encoding="utf-8"))["runs"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{directory}: no comparison of variants here ({error})") from None
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["overrides"]["variant"], row["overrides"].get("setting", "")), []).append(row["summary"])
    found = {}
    for (name, setting), summaries in groups.items():
        for measure in MEASURES:
            values = [v for s in summaries if (v := measure.of(s)) is not None]
            if values:
                found[name, setting, measure.title] = Number.of(values, logarithmic=measure.logarithmic)
    return Variants(
        about["description"], tuple(about["variants"]), {k: tuple(v) for k, v in about["parents"].items()},
        tuple(about["settings"]) or ("",), found, max(map(len, groups.values()), default=0),
    )  # fmt: skip


def readings(found: Variants) -> list[str]:
    """One line per combination: beside each parent, what is better and worse, in how many settings and where most."""
    return [f"{name}: {_reading(found, name)}." for name in found.combinations]


def _reading(found: Variants, name: str) -> str:
    there = [s for s in found.settings if any((name, s, m.title) in found.numbers for m in MEASURES)]
    parts = []
    for parent in found.parents[name]:
        told = "; ".join(words for m in MEASURES if (words := _beside(found, name, parent, m)))
        parts.append(f"beside {parent}, {told or 'no difference'}")
    missing = [s for s in found.settings if s not in there]
    return ". ".join(p[0].upper() + p[1:] if i else p for i, p in enumerate(parts)) + (
        f"; it did not run on {', '.join(missing)}" if missing else ""
    )


def _beside(found: Variants, name: str, parent: str, measure: Measure) -> str:
    """Such as "write P99 better in 3 of 8 settings (nvme high: 9.1 µs against 20 s)"; empty without a difference."""
    better: list[tuple[float, str]] = []
    worse: list[tuple[float, str]] = []
    known = 0
    for setting in found.settings:
        mine, other = (found.numbers.get((one, setting, measure.title)) for one in (name, parent))
        if mine is None or other is None:
            continue
        known += 1
        side = _side(mine, other, other, measure)
        if side:
            size = abs(math.log(max(mine.value, 1e-12) / max(other.value, 1e-12)))
            (better if side > 0 else worse).append((size, f"{setting}: {_change(measure, mine, other)}".removeprefix(": ")))
    words = [
        f"{word} in {len(rows)} of {known} settings ({max(rows)[1]})"
        for word, rows in (("better", better), ("worse", worse))
        if rows
    ]
    return f"{measure.title} {' and '.join(words)}" if words else ""


def against_parents(found: Variants, name: str, setting: str, measure: Measure) -> tuple[int, str] | None:
    """1 if better than both parents beyond the intervals, -1 if worse than both, else 0; and by how much.

    The amount is against the better parent where it is better, against the worse one where it is worse. None where a
    number is missing.
    """
    mine = found.numbers.get((name, setting, measure.title))
    parents = [found.numbers.get((p, setting, measure.title)) for p in found.parents[name]]
    known = [p for p in parents if p is not None]
    if mine is None or len(known) < len(parents):
        return None
    lowest, highest = min(known, key=lambda p: p.value), max(known, key=lambda p: p.value)
    side = _side(mine, lowest, highest, measure)
    return side, _change(measure, mine, lowest if side == -measure.better else highest) if side else ""


def _side(mine: Number, lowest: Number, highest: Number, measure: Measure) -> int:
    """1 if better than both beyond the intervals, -1 if worse, 0 if neither."""
    if mine.high < lowest.low and lowest.value - mine.value > measure.floor:
        return -measure.better
    if mine.low > highest.high and mine.value - highest.value > measure.floor:
        return measure.better
    return 0


def _change(measure: Measure, mine: Number, other: Number) -> str:
    return f"{measure.text(mine.value)} against {measure.text(other.value)}"
