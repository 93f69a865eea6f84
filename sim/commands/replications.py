"""Replications: several seeds of one configuration, with the mean and the 90 % interval of every number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

from lsmlab.sim.configuration.parameters import perturbed
from lsmlab.sim.runs.batch import Job

CONFIDENCE: Final = 0.90


def seeded(config: Mapping[str, Any], count: int, directory: Path) -> list[Job]:
    """Return the jobs of `count` replications with the seeds seed, seed + 1, …, each in its own folder seed_<n>.

    If the parameter set gives standard errors, add two runs, constants_1 and constants_2, whose constants differ from
    the set by one standard error (`perturbed`).
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
    for i, changed in enumerate(perturbed(config), 1):
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
    """Return the summary of several replications.

    The values are those of the first replication, so that totals agree with its tables. "interval" contains, for every
    number, the mean over the replications and its 90 % intervals (see `interval`). `pair`: summaries of the two runs
    constants_1 and constants_2, if any.
    """
    return {
        **summaries[0],
        "replications": len(summaries),
        "seeds": [s.get("seed") for s in summaries],
        "interval": _intervals(summaries, pair),
    }


def _intervals(summaries: Sequence[Mapping[str, Any]], pair: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    intervals: dict[str, Any] = {}
    for key, value in summaries[0].items():
        values = [s.get(key) for s in summaries]
        if isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in values):
            inner = _intervals([v for v in values if isinstance(v, Mapping)], [s.get(key) or {} for s in pair])
            if inner:
                intervals[key] = inner
        elif key != "seed" and all(_is_number(v) for v in values):
            off = [float(v) for s in pair if _is_number(v := s.get(key)) and v is not None]
            intervals[key] = interval([float(v) for v in values if v is not None], off)
    return intervals


def constants_variance(pair: Sequence[float], variance: float) -> float:
    """Return the variance that uncertain constants cause.

    It is the square of half the difference between the two runs with displaced constants (`pair`), minus the noise of
    these two runs: half the variance between seeds (`variance`).
    """
    return max(0.0, (0.5 * (pair[0] - pair[1])) ** 2 - 0.5 * variance) if len(pair) == 2 else 0.0


def interval(values: Sequence[float], pair: Sequence[float] = ()) -> dict[str, float | None]:
    """Return the mean and the 90 % t-intervals of independent values; the limits are None for a single value.

    (low, high) is the confidence interval of the mean, (run_low, run_high) the prediction interval of one further run.
    Both include the uncertainty of the constants (`pair`: results of the two runs with displaced constants).

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
    """Return half the width of a 90 % interval with the variance `seeds` + `constants`.

    The degrees of freedom follow Welch and Satterthwaite: `count` - 1 for `seeds`, infinitely many for `constants`.
    """
    total = seeds + constants
    share = seeds / total if total > 0.0 else 0.0
    quantile = t_quantile((count - 1) / share**2 if share > 0.0 else math.inf, 0.5 + CONFIDENCE / 2)
    return quantile * math.sqrt(total)


def t_quantile(freedom: float, share: float) -> float:
    """Return the quantile `share` of Student's t distribution; infinite `freedom` gives the normal distribution."""
    if math.isinf(freedom):
        return NormalDist().inv_cdf(share)
    from scipy.special import stdtrit  # same as scipy.stats.t.ppf, and imports in a tenth of the time

    return float(stdtrit(freedom, share))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
