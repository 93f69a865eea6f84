"""Length of the runs of a study: as long as its stores need to settle, where the user has set no duration."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.models.workloads.generic import FULL_SPEED_S
from lsmlab.sim.configuration.overrides import override_key
from lsmlab.sim.explain.sentences import overload_text
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.studies.baseline import DURATION, Baseline
from lsmlab.sim.studies.differences import Repeats
from lsmlab.sim.studies.study import Study, Variant

LONGEST: Final = 8.0
"""Longest run of a study, in units of the configured duration (`SettledRequest.settled` says so to users)."""


def until_settled(study: Study, runs: Settings, names: Iterable[str] = (), longest: float = LONGEST) -> Study:
    """Return a study whose runs are as long as its stores need to settle.

    The configurations `names` (empty: all) run with their first seed; all durations of the study double until the stores of
    these have settled, at most to `longest` times. Common durations keep configurations comparable. A workload without a
    duration, such as one that replays a trace, stays as it is. A store that cannot keep up with its load asks for no longer
    run: its queue grows in that too.
    """
    probed, factor = list(names) or list(study.variants), 1.0
    while 2.0 * factor <= longest:
        variants = {name: Variant(_lengthened(study.variants[name].config, factor)) for name in probed}
        rows = Study(variants, perturbed=False).run(replace(runs, quiet=True)).rows
        found = [Repeats([row.summary or {}]) for row in rows]
        doubt = next((d for one in found if (d := one.unsettled) is not None and not one.overloaded), None)
        if doubt is None or all(_duration_s(v.config) is None for v in variants.values()):
            break
        factor *= 2.0
        if not runs.quiet:
            sys.stderr.write(f"lsmlab: not settled ({doubt}): all runs now take {factor:.0f} times as long\n")
    return study if factor == 1.0 else replace(study, variants=_Lengthened(study.variants, factor))


def settled_baseline(
    baseline: Baseline, runs: Settings, changes: Sequence[str] = (), longest: float = LONGEST
) -> Baseline:
    """Return a store whose runs are as long as it needs to settle with `changes` (`until_settled`)."""
    probe = Study({baseline.name: Variant(baseline.compose(changes))})
    longer = until_settled(probe, runs, longest=longest)
    if longer is probe:
        return baseline
    kept = [text for text in baseline.overrides if override_key(text) != DURATION]
    duration = longer.variants[baseline.name].config["workload"]["duration"]
    return replace(baseline, overrides=(*kept, f"{DURATION}={duration}"))


class _Lengthened(Mapping[str, Variant]):
    """Variants with longer runs, each made when it is asked for."""

    def __init__(self, variants: Mapping[str, Variant], factor: float) -> None:
        self._variants, self._factor = variants, factor

    def __getitem__(self, name: str) -> Variant:
        variant = self._variants[name]
        return replace(variant, config=_lengthened(variant.config, self._factor))

    def __iter__(self) -> Iterator[str]:
        return iter(self._variants)

    def __len__(self) -> int:
        return len(self._variants)


def _duration_s(config: Mapping[str, Any]) -> float | None:
    """Return the configured duration of a run; None for a load that ends with its operations, such as a trace."""
    load = config["workload"]
    value = load.get("duration")
    if value is None and load.get("operations", "") is None:
        return FULL_SPEED_S  # the workload full_speed has neither
    try:
        return None if value is None else parse_quantity(value, "seconds")
    except InputError:
        return None


def _lengthened(config: Mapping[str, Any], factor: float) -> Mapping[str, Any]:
    duration_s = _duration_s(config)
    if duration_s is None or factor == 1.0:
        return config
    return {**config, "workload": {**config["workload"], "duration": f"{factor * duration_s:g}s"}}


@dataclass(frozen=True)
class StoreState:
    """What the runs of one configuration say beside their numbers."""

    duration_s: float
    """Simulated time of a run."""
    unsettled: str | None
    """Why the numbers are not those of the long run; None if the stores of all seeds had settled."""
    bottleneck: str
    """What held the clients of the first seed back, in a sentence."""
    overload: str
    """That the store cannot keep up with its load, in words; empty if it can."""
    known: bool = True
    """Whether the runs tell whether they had settled; not if the device changes during the run."""


def state_of(repeats: Repeats) -> StoreState:
    """Return the state of a configuration's store."""
    first = repeats.summaries[0]
    text = str((first.get("bottleneck") or {}).get("text") or "")
    over = next((found for s in repeats.summaries if (found := s.get("overload"))), None)
    known = all((s.get("settled") or {}).get("settled") is not None for s in repeats.summaries)
    return StoreState(
        float(first.get("duration_s") or 0.0), repeats.unsettled, text, overload_text(over) if over else "", known
    )
