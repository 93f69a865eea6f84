"""Several seeds of one configuration: the mean of every number and how well it is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.batch import Job

CONFIDENCE: Final = 0.90


def seeded(config: Mapping[str, Any], count: int, directory: Path) -> list[Job]:
    """The jobs of `count` replications: seeds seed, seed + 1, …, each in its own folder seed_<n>."""
    first = int(config.get("seed", 1))
    return [
        Job(
            f"seed_{seed}", {**config, "seed": seed, "replications": 1}, directory / f"seed_{seed}", {"seed": str(seed)}
        )
        for seed in range(first, first + count)
    ]


def combine(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The summary of several replications.

    The values are those of the first one (so that tables and totals belong together); "interval" holds, for every
    number, the mean over the replications and its 90 % Student-t confidence interval (low, high).
    """
    return {
        **summaries[0],
        "replications": len(summaries),
        "seeds": [s.get("seed") for s in summaries],
        "interval": _intervals(summaries),
    }


def _intervals(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in summaries[0].items():
        values = [s.get(key) for s in summaries]
        if isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in values):
            inner = _intervals([v for v in values if isinstance(v, Mapping)])
            if inner:
                found[key] = inner
        elif key != "seed" and all(_is_number(v) for v in values):
            found[key] = interval([float(v) for v in values if v is not None])
    return found


def interval(values: Sequence[float]) -> dict[str, float | None]:
    """Mean and 90 % t-interval of independent values; a single value has no interval (None).

    >>> {k: round(v, 3) for k, v in interval([9.0, 10.0, 11.0]).items()}
    {'mean': 10.0, 'low': 8.314, 'high': 11.686}
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return {"mean": mean, "low": None, "high": None}
    from scipy.special import stdtrit  # the quantile function of scipy.stats.t, at a tenth of its import time

    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (count - 1))
    half = float(stdtrit(count - 1, 0.5 + CONFIDENCE / 2)) * deviation / math.sqrt(count)
    return {"mean": mean, "low": mean - half, "high": mean + half}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
