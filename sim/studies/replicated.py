"""Summary of several runs of one configuration: every number with its mean and its intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lsmlab.sim.studies.statistics import interval


def combine(summaries: Sequence[Mapping[str, Any]], perturbed: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the summary of several seeds.

    The values are those of the first seed, so that totals agree with its tables. "interval" contains, for every number,
    the mean over the seeds and its 90 % intervals (`statistics.interval`). `perturbed`: summaries of the two runs with
    perturbed constants, if any.
    """
    return {
        **summaries[0],
        "replications": len(summaries),
        "seeds": [s.get("seed") for s in summaries],
        "interval": _intervals(summaries, perturbed),
    }


def _intervals(summaries: Sequence[Mapping[str, Any]], perturbed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    intervals: dict[str, Any] = {}
    for key, value in summaries[0].items():
        values = [s.get(key) for s in summaries]
        if isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in values):
            inner = _intervals([v for v in values if isinstance(v, Mapping)], [s.get(key) or {} for s in perturbed])
            if inner:
                intervals[key] = inner
        elif key != "seed" and all(_is_number(v) for v in values):
            off = [float(v) for s in perturbed if _is_number(v := s.get(key)) and v is not None]
            intervals[key] = interval([float(v) for v in values if v is not None], off)
    return intervals


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
