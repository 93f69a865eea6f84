"""Answer of `lsmlab grow`: the numbers of each window, wear up to it, and errors against a full run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from lsmlab.sim.horizons.measured import QUANTITIES, difference
from lsmlab.sim.horizons.windows import Horizon, Load

FILE: Final = "growth.json"
Numbers = Mapping[str, float | None]


def growth_answer(
    name: str, horizon: Horizon, load: Load, found: Sequence[Numbers], full: Sequence[Numbers] | None,
    endurance_bytes: float | None,
) -> dict[str, Any]:  # fmt: skip
    """Return the answer. `found`: numbers of each window; `full`: those of the same times of a full run, if any."""
    middles = [begin_s + horizon.warm_s + horizon.window_s / 2.0 for begin_s in horizon.begins_s]
    worn = written_until(middles, [float(n["written_per_s"] or 0.0) for n in found])
    rows = [
        {
            "age_s": age_s, "keys": load.keys_at(age_s), **numbers, "written_bytes": total,
            "endurance_used": total / endurance_bytes if endurance_bytes else None,
        }
        for age_s, numbers, total in zip(middles, found, worn, strict=True)
    ]  # fmt: skip
    answer: dict[str, Any] = {
        "store": name, "horizon_s": horizon.length_s, "warm_s": horizon.warm_s, "window_s": horizon.window_s,
        "simulated_s": horizon.count * (horizon.warm_s + horizon.window_s), "keys": load.keys,
        "inserts_per_s": load.inserts_per_s, "windows": rows,
    }  # fmt: skip
    if full is not None:
        answer["full"] = [dict(numbers) for numbers in full]
        pairs = list(zip(found, full, strict=True))
        answer["errors"] = {name: [difference(name, own[name], whole[name]) for own, whole in pairs] for name in QUANTITIES}
    return answer


def written_until(ages_s: Sequence[float], per_s: Sequence[float]) -> list[float]:
    """Return the bytes written from the start to each age; the rate changes linearly between two ages.

    >>> written_until([10.0, 30.0], [5.0, 15.0])
    [50.0, 250.0]
    """
    ages, rates = np.asarray(ages_s), np.asarray(per_s)
    between = (rates[1:] + rates[:-1]) / 2.0 * np.diff(ages)
    return np.cumsum(np.concatenate(([ages[0] * rates[0]], between))).tolist()  # type: ignore[no-any-return]
