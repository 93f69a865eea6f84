"""Key `interval` of a run's summary: for every number its mean over the seeds, the noise between them, and the real store."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.sim.clients.latency import QUANTILES
from lsmlab.sim.studies.intervals import ModelErrors, RunFacts, facts_of, read_model_errors
from lsmlab.sim.studies.metrics import error_name
from lsmlab.sim.studies.statistics import between_seeds

Summaries = Sequence[Mapping[str, Any]]
_RISING: Final = (*QUANTILES, "max")
"""Percentiles of latencies in summary.json, ascending."""
_LATENCY: Final = "_latency_s"
_WIDEST: Final = 1e4
"""Quotient of the ends of an interval above which it says nothing, as of the latencies of a run with hardly a job: unknown."""


def combine(config: Mapping[str, Any], summaries: Summaries, perturbed: Summaries = ()) -> dict[str, Any]:
    """Return the summary of several seeds.

    The values are those of the first seed, so that totals agree with its tables; "interval" is that of `intervals`.
    """
    return {
        **summaries[0],
        "replications": len(summaries),
        "seeds": [s.get("seed") for s in summaries],
        "interval": intervals(config, summaries, perturbed),
    }


def intervals(
    config: Mapping[str, Any], summaries: Summaries, perturbed: Summaries = (), errors: ModelErrors | None = None
) -> dict[str, Any]:
    """Return for each number: mean over the seeds, `low` and `high` for the real store, `seeds_low` and `seeds_high`.

    `perturbed`: summaries of the two runs with shifted constants, if any. `errors`: by default the published ones. An end is
    None where it is unknown: no error was learnt of the number, or there is one seed. A number without any end is left out.
    """
    facts = facts_of(config, summaries[0])
    return _nested(summaries, perturbed, facts, read_model_errors() if errors is None else errors, "")


def _nested(summaries: Summaries, perturbed: Summaries, facts: RunFacts, errors: ModelErrors, prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in summaries[0].items():
        values = [s.get(key) for s in summaries]
        if isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in values):
            shifted = [inner for s in perturbed if isinstance(inner := s.get(key), Mapping)]
            inner = _nested([v for v in values if isinstance(v, Mapping)], shifted, facts, errors, f"{prefix}{key}.")
            if inner:
                found[key] = _ordered(inner) if key.endswith(_LATENCY) else inner
        elif key != "seed" and all(map(_is_number, values)):
            pair = [float(v) for s in perturbed if _is_number(v := s.get(key)) and v is not None]
            one = _of_number(f"{prefix}{key}", [float(v) for v in values if v is not None], pair, facts, errors)
            if len(values) > 1 or one["low"] is not None:
                found[key] = one
    return found


def _of_number(
    name: str, values: Sequence[float], pair: Sequence[float], facts: RunFacts, errors: ModelErrors
) -> dict[str, float | None]:
    low, high = errors.interval(error_name(name), facts, values, pair) or (None, None)
    if low is not None and high is not None and high > _WIDEST * low > 0.0:
        low = high = None
    seeds_low, seeds_high = between_seeds(values) or (None, None)
    mean = math.fsum(values) / len(values)
    return {"mean": mean, "low": low, "high": high, "seeds_low": seeds_low, "seeds_high": seeds_high}


def _ordered(latencies: Mapping[str, Any]) -> dict[str, Any]:
    """Widen the intervals of percentiles, each learnt by itself, so that their ends rise with the percentile."""
    found = {name: dict(one) for name, one in latencies.items()}
    rising = [found[name] for name in _RISING if name in found]
    for end, order, widest in (("high", rising, max), ("low", rising[::-1], min)):
        known: float | None = None
        for one in order:
            if one[end] is not None:
                one[end] = known = one[end] if known is None else widest(known, one[end])
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
