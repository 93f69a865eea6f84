"""Several seeds of one configuration: the mean of every number and how well it is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

from lsmlab.sim.batch import Job
from lsmlab.sim.parameters import perturbed

CONFIDENCE: Final = 0.90


def seeded(config: Mapping[str, Any], count: int, directory: Path) -> list[Job]:
    """The jobs of `count` replications: seeds seed, seed + 1, …, each in its own folder seed_<n>.

    Constants of a parameter set that are known with an error are drawn anew for each (`parameters.perturbed`).
    """
    first = int(config.get("seed", 1))
    return [
        Job(
            f"seed_{first + i}",
            {**perturbed(config, i), "seed": first + i, "replications": 1},
            directory / f"seed_{first + i}",
            {"seed": str(first + i)},
        )
        for i in range(count)
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
    """Mean and 90 % t-intervals of independent values; a single value has none (None).

    (low, high) holds the mean of very many replications, (run_low, run_high) one further run.

    >>> {k: round(v, 3) for k, v in interval([9.0, 10.0, 11.0]).items()}
    {'mean': 10.0, 'low': 8.314, 'high': 11.686, 'run_low': 6.628, 'run_high': 13.372}
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return {"mean": mean, "low": None, "high": None, "run_low": None, "run_high": None}
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (count - 1))
    quantile = t_quantile(count - 1, 0.5 + CONFIDENCE / 2)
    half, wide = (quantile * deviation * math.sqrt(share) for share in (1.0 / count, 1.0 + 1.0 / count))
    return {"mean": mean, "low": mean - half, "high": mean + half, "run_low": mean - wide, "run_high": mean + wide}


def t_quantile(freedom: float, share: float) -> float:
    """Student's t: the value below which a share of its mass lies; `freedom` may be infinite (the normal distribution)."""
    if math.isinf(freedom):
        return NormalDist().inv_cdf(share)
    from scipy.special import stdtrit  # the quantile function of scipy.stats.t, at a tenth of its import time

    return float(stdtrit(freedom, share))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
