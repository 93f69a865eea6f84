"""Several seeds of one configuration: the mean of every number and how well it is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

from lsmlab.sim.configuration.parameters import displaced
from lsmlab.sim.runs.batch import Job

CONFIDENCE: Final = 0.90


def seeded(config: Mapping[str, Any], count: int, directory: Path) -> list[Job]:
    """The jobs of `count` replications: seeds seed, seed + 1, …, each in its own folder seed_<n>.

    Where a parameter set states standard errors, two more follow with the constants off by them: constants_1, constants_2.
    """
    first = int(config.get("seed", 1))
    jobs = [
        Job(
            f"seed_{first + i}",
            {**config, "seed": first + i, "replications": 1},
            directory / f"seed_{first + i}",
            {"seed": str(first + i)},
            {"seed": first + i},
        )
        for i in range(count)
    ]
    for i, changed in enumerate(displaced(config), 1):
        name = f"constants_{i}"
        jobs.append(
            Job(
                name,
                {**changed, "replications": 1},
                directory / name,
                {"seed": str(first), "constants": str(i)},
                {"seed": first, "constants": i},
            )
        )
    return jobs


def combine(summaries: Sequence[Mapping[str, Any]], pair: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The summary of several replications.

    The values are those of the first one (so that tables and totals belong together); "interval" holds, for every
    number, the mean over the replications and its 90 % intervals (see `interval`). `pair`: the summaries of the two runs
    whose constants are off by their standard errors, if any.
    """
    return {
        **summaries[0],
        "replications": len(summaries),
        "seeds": [s.get("seed") for s in summaries],
        "interval": _intervals(summaries, pair),
    }


def _intervals(summaries: Sequence[Mapping[str, Any]], pair: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in summaries[0].items():
        values = [s.get(key) for s in summaries]
        if isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in values):
            inner = _intervals([v for v in values if isinstance(v, Mapping)], [s.get(key) or {} for s in pair])
            if inner:
                found[key] = inner
        elif key != "seed" and all(_is_number(v) for v in values):
            off = [float(v) for s in pair if _is_number(v := s.get(key)) and v is not None]
            found[key] = interval([float(v) for v in values if v is not None], off)
    return found


def constants_variance(pair: Sequence[float], variance: float) -> float:
    """Variance that uncertain constants cause: half the difference of the two displaced runs, squared, less their own noise."""
    return max(0.0, (0.5 * (pair[0] - pair[1])) ** 2 - 0.5 * variance) if len(pair) == 2 else 0.0


def interval(values: Sequence[float], pair: Sequence[float] = ()) -> dict[str, float | None]:
    """Mean and 90 % t-intervals of independent values; a single value has none (None).

    (low, high) holds the mean of very many replications, (run_low, run_high) one further run; both are widened by what
    the uncertainty of the constants (`pair`: the results of the two displaced runs) adds.

    >>> {k: round(v, 3) for k, v in interval([9.0, 10.0, 11.0]).items()}
    {'mean': 10.0, 'low': 8.314, 'high': 11.686, 'run_low': 6.628, 'run_high': 13.372}
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return {"mean": mean, "low": None, "high": None, "run_low": None, "run_high": None}
    variance = math.fsum((v - mean) ** 2 for v in values) / (count - 1)
    constants = constants_variance(pair, variance)
    half, wide = (_half_width(variance * share, constants, count) for share in (1.0 / count, 1.0 + 1.0 / count))
    return {"mean": mean, "low": mean - half, "high": mean + half, "run_low": mean - wide, "run_high": mean + wide}


def _half_width(seeds: float, constants: float, count: int) -> float:
    """Of the 90 % interval of a variance that comes from `count` seeds, and from constants that are known better."""
    total = seeds + constants
    share = seeds / total if total > 0.0 else 0.0
    quantile = t_quantile((count - 1) / share**2 if share > 0.0 else math.inf, 0.5 + CONFIDENCE / 2)
    return quantile * math.sqrt(total)


def t_quantile(freedom: float, share: float) -> float:
    """Student's t: the value below which a share of its mass lies; `freedom` may be infinite (the normal distribution)."""
    if math.isinf(freedom):
        return NormalDist().inv_cdf(share)
    from scipy.special import stdtrit  # the quantile function of scipy.stats.t, at a tenth of its import time

    return float(stdtrit(freedom, share))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
