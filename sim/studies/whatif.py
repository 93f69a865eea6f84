"""What if: differences between a store and alternatives to it, over common seeds, and the present state against its LOG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.combinations import expand
from lsmlab.sim.configuration.names import folder_names
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.estimate import CostEstimate
from lsmlab.sim.studies.baseline import Baseline, StoreRequest, read_baseline
from lsmlab.sim.studies.changes import changes_of, kept_facts
from lsmlab.sim.studies.differences import Difference, Repeats, differences
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.metrics import BY_NAME, value_of
from lsmlab.sim.studies.model_errors import model_errors_of
from lsmlab.sim.studies.request import argument
from lsmlab.sim.studies.statistics import half_width, interval
from lsmlab.sim.studies.study import Study, Variant

PRESENT: Final = "present state"
CHECKED: Final = ("ops_per_s", "write_amplification", "stall_fraction", "flush_count", "compaction_count")
"""Numbers of a LOG that a simulated run has too."""
WARNED: Final = ("ops_per_s", "write_amplification", "stall_fraction")
"""Numbers that must be reproduced for the differences to be credible; counts of jobs are only shown."""


@dataclass(frozen=True, kw_only=True)
class WhatIfRequest(StoreRequest):
    """Simulate a store and alternatives to it with the same seeds; print the differences with 90 % intervals."""

    alternatives: tuple[str, ...] = argument(
        "ALTERNATIVE", "change to the store: key=value; several in quotes; comma lists give one alternative per combination",
        several=True, least=0,
    )  # fmt: skip


@dataclass(frozen=True)
class Present:
    """Present state of a store."""

    name: str
    folder: str
    """Folder of its first run, in the folder of the answer."""
    values: dict[str, float]
    """Mean of each metric over the seeds."""


@dataclass(frozen=True)
class ComparedAlternative:
    """An alternative, compared with the present state."""

    name: str
    folder: str
    changes: list[str]
    """Replaced entries and values, in words."""
    kept: list[str]
    """Facts that stay although an entry was replaced."""
    differences: list[Difference]


@dataclass(frozen=True, slots=True)
class ReproductionCheck:
    """Comparison of one number of the present state with the LOG."""

    metric: str
    recorded: float
    simulated: float
    """Mean over the seeds."""
    low: float | None
    """90 % interval for the value of a real run; None if nothing about its width is known."""
    high: float | None
    error: float | None
    """Relative error; for shares, the difference. None: the LOG has zero."""
    inside: bool | None
    """Whether the recorded value is inside the interval."""


@dataclass(frozen=True)
class Reproduction:
    """The simulated present state against the LOG."""

    checks: list[ReproductionCheck]
    warning: str | None
    """What is not reproduced; None if all is."""


@dataclass(frozen=True)
class WhatIfAnswer(Document):
    """Answer to a what-if; the content of whatif.json."""

    store: str
    overrides: list[str]
    seeds: list[int]
    present: Present
    reproduction: Reproduction | None
    """The simulated present state against the LOG; None for a store that is no LOG."""
    alternatives: list[ComparedAlternative]


@dataclass(frozen=True, slots=True)
class Alternative:
    """Changes to the present state."""

    name: str
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class _Asked:
    """A what-if with its configurations: the present state, then each alternative."""

    baseline: Baseline
    alternatives: Sequence[Alternative]
    configs: Sequence[dict[str, Any]]
    folders: Sequence[str]
    """Name of the folder of each configuration."""
    study: Study


def _asked(request: WhatIfRequest, folder: Path | None) -> _Asked:
    baseline = read_baseline(request.store, request.set, request.config_dirs)
    found = alternatives(request.alternatives)
    configs = baseline.compose_all([(), *(a.overrides for a in found)])
    names = [PRESENT, *(a.name for a in found)]
    folders = folder_names(names)
    variants = {
        name: Variant(config, {"configuration": name}, None if folder is None else folder / place)
        for name, config, place in zip(names, configs, folders, strict=True)
    }
    return _Asked(baseline, found, configs, folders, Study(variants, request.replications))


def cost(request: WhatIfRequest, runs: Settings) -> CostEstimate:
    """Return the estimated cost of the runs that the run store lacks."""
    return _asked(request, None).study.cost(runs)


def whatif(request: WhatIfRequest, runs: Settings, folder: Path | None = None) -> WhatIfAnswer:
    """Simulate the present state of a store and its alternatives, and compare them.

    `folder`: gets a folder for the first run of each. Raises InputError for a store, a change or an alternative that is not
    possible.
    """
    asked = _asked(request, folder)
    baseline, configs = asked.baseline, asked.configs
    outcome = asked.study.run(runs, [folder] if folder is not None else [])
    present = outcome.repeats(PRESENT)
    errors = model_errors_of(configs[0], from_a_log=baseline.from_a_log, changed=True)
    return WhatIfAnswer(
        baseline.name, list(baseline.overrides), present.seeds, Present(PRESENT, asked.folders[0], present.means()),
        reproduction(present, baseline.recorded, errors) if baseline.recorded and baseline.from_a_log else None,
        [
            ComparedAlternative(
                one.name, place, changes_of(one.overrides, configs[0], config), kept_facts(one.overrides, config),
                differences(present, outcome.repeats(one.name), errors),
            )
            for one, place, config in zip(asked.alternatives, asked.folders[1:], configs[1:], strict=True)
        ],
    )  # fmt: skip


def reproduction(present: Repeats, recorded: Mapping[str, Any], errors: Mapping[str, float]) -> Reproduction | None:
    """Compare the present state with a recorded summary; None if they have no number in common.

    `errors`: the model's own errors by metric.
    """
    checks = check_present(present, recorded, errors)
    return Reproduction(checks, warning(checks)) if checks else None


def check_present(present: Repeats, recorded: Mapping[str, Any], errors: Mapping[str, float]) -> list[ReproductionCheck]:
    """Compare the numbers of `CHECKED`."""
    checks = []
    for metric in (BY_NAME[name] for name in CHECKED):
        real, values = value_of(recorded, metric.name), present.values(metric)
        if real is None or values is None:
            continue
        found = interval(values, present.perturbed_values(metric) or ())
        mean = math.fsum(values) / len(values)
        own = errors.get(metric.error_name, 0.0) * (1.0 if metric.share else abs(mean))
        one_sigma = half_width(0.0, 1.0, len(values))
        half = ((found["run_high"] or mean) - mean) / one_sigma
        width = one_sigma * math.hypot(half, own)
        known = found["run_high"] is not None or own > 0.0
        error = mean - real if metric.share else mean / real - 1.0 if real else None
        low, high = (mean - width, mean + width) if known else (None, None)
        inside = None if low is None or high is None else low <= real <= high
        checks.append(ReproductionCheck(metric.name, real, mean, low, high, error, inside))
    return checks


def warning(checks: Sequence[ReproductionCheck]) -> str | None:
    """Return a warning if the simulation does not reproduce the LOG; None if it does."""
    off = [check for check in checks if check.inside is False and check.metric in WARNED]
    if not off:
        return None
    texts = []
    for check in off:
        metric = BY_NAME[check.metric]
        texts.append(f"{metric.label} {metric.form(check.simulated)} instead of {metric.form(check.recorded)}")
    return (
        f"the simulation of the present state does not reproduce the LOG: {', '.join(texts)}. Differences between "
        "alternatives may be wrong by as much"
    )


def alternatives(arguments: Sequence[str]) -> list[Alternative]:
    """Return the alternatives in order, each once: each argument has one or several overrides; comma lists make a grid.

    >>> [a.name for a in alternatives(["device=sata", "engine=vlsm,silk workload.scale=2"])]
    ['device=sata', 'engine=vlsm workload.scale=2', 'engine=silk workload.scale=2']
    """
    found: dict[str, Alternative] = {}
    for argument_ in arguments:
        texts = argument_.split()
        bad = next((text for text in texts if "=" not in text.lstrip("~") and not text.startswith("~")), None)
        if bad is not None or not texts:
            raise InputError(f"{argument_!r}: an alternative is key=value, several of them in quotes: 'device=sata host.cores=8'")
        for overrides, chosen in expand(texts):
            name = " ".join(_named(text, chosen) for text in texts)
            found.setdefault(name, Alternative(name, tuple(overrides)))
    return list(found.values())


def _named(text: str, chosen: dict[str, str]) -> str:
    key = text.partition("=")[0]
    return f"{key}={chosen[key]}" if key in chosen else text
