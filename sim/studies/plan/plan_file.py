"""Plan: the content of PLAN.yaml, checked; and the first plan of a store that has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import build, quantity
from lsmlab.models.workloads.generic import MixedWorkload
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.studies.baseline import Baseline, read_baseline
from lsmlab.sim.studies.plan.candidates import PlanCandidate, make_candidates
from lsmlab.sim.studies.plan.load import LoadPlan, LoadSettings, make_load, split
from lsmlab.sim.studies.plan.prices import AvailabilitySettings, CostSettings, read_catalogue
from lsmlab.sim.studies.plan.service_levels import ServiceLevels
from lsmlab.sim.studies.plan.trial import SearchSettings
from lsmlab.sim.studies.plan.yaml_file import check_keys, read_mapping

_KEYS: Final = (
    "description", "start", "horizon", "workload", "service_levels", "candidates", "catalogue", "search", "costs", "sensitivity",
    "availability",
)  # fmt: skip

FILE: Final = "plan.yaml"
_TEXT: Final = """\
# Plan of {run}. Change it and run: lsmlab plan {path}
# All keys: docs/reference/plan.md
description: {name}
workload:
  run: {run}  # store, machine and load
  {load}
  growth_per_year: {growth}
  daily: 1  # busiest hour over the mean of the day
  weekly: 1  # busiest day over the mean of the week
service_levels:
  stalled: 10%  # share of the time in which writes are delayed or stopped; also: write_p99, write_p999, longest_stall
candidates:
  device: [{devices}]  # 'lsmlab list device' names more
search: {{precision: 5%}}
sensitivity: {{candidates: 1}}
"""


@dataclass(frozen=True, kw_only=True)
class SensitivitySettings:
    """Settings of the sensitivities that need simulations."""

    candidates: int = quantity("count", 2, high=100)
    """Number of candidates, the best ones first."""
    change: float = quantity("ratio", 0.2, low=0.01, high=0.9)
    """Relative change of each input, up and down."""


@dataclass(frozen=True)
class Plan:
    """A capacity plan."""

    path: Path
    description: str
    start: date
    horizon_years: float
    load: LoadPlan
    levels: ServiceLevels
    candidates: tuple[PlanCandidate, ...]
    search: SearchSettings
    costs: CostSettings
    sensitivity: SensitivitySettings
    availability: AvailabilitySettings
    notes: tuple[str, ...]


def read_plan(path: Path, config_dirs: Sequence[Path] = ()) -> Plan:
    """Read and check a plan. Raises InputError that names file, key and remedy."""
    content = read_mapping(path)
    try:
        return _plan(path, content, config_dirs)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(str(path)) else f"{path}: {text}") from None


def _plan(path: Path, content: Mapping[str, Any], config_dirs: Sequence[Path]) -> Plan:
    check_keys(content, _KEYS)
    own, passed = split(_part(content, "workload"))
    check_keys(own, [f.name for f in fields(LoadSettings)] + [f.name for f in fields(MixedWorkload)], "workload.")
    settings = build(LoadSettings, own, "workload")
    baseline = _subject(path, settings, config_dirs)
    load, notes = make_load(settings, passed, baseline.compose())
    levels = build(ServiceLevels, _part(content, "service_levels", {}), "service_levels")
    if levels.recovery is not None and load.bursts is None:
        raise InputError("service_levels.recovery: the load has no bursts; set workload.bursts, or omit this limit")
    catalogue = read_catalogue(path.parent / str(content["catalogue"]) if content.get("catalogue") is not None else None)
    availability = build(AvailabilitySettings, _part(content, "availability", {}), "availability")
    candidates = make_candidates(_part(content, "candidates"), baseline, load, catalogue, availability)
    return Plan(
        path, str(content.get("description") or ""), _start(content.get("start")), _horizon(content.get("horizon", 3)), load,
        levels, candidates, build(SearchSettings, _part(content, "search", {}), "search"),
        build(CostSettings, _part(content, "costs", {}), "costs"),
        build(SensitivitySettings, _part(content, "sensitivity", {}), "sensitivity"), availability,
        tuple(notes),
    )  # fmt: skip


def _part(content: Mapping[str, Any], key: str, default: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    value = content.get(key, default)
    if value is None:
        raise InputError(f"{key}: a value is required; see docs/reference/plan.md")
    if not isinstance(value, Mapping):
        raise InputError(f"{key}: {value!r} must be a mapping of keys; see docs/reference/plan.md")
    return value


def _subject(path: Path, settings: LoadSettings, config_dirs: Sequence[Path]) -> Baseline:
    changes = settings.set
    if isinstance(changes, str) or not isinstance(changes, Sequence) or not all(isinstance(t, str) and "=" in t for t in changes):
        raise InputError("workload.set: must be a list of overrides, such as [host.cores=8, limits=none]")
    if settings.run is None:
        return Baseline("plan", tuple(changes), tuple(config_dirs))
    beside = path.parent / settings.run
    return read_baseline(str(beside) if beside.is_dir() else settings.run, changes, config_dirs)


def _start(value: object) -> date:
    if value is None:
        return date.today()
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise InputError(f"start: {value!r} must be a day such as 2026-11-01") from None


def _horizon(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.0 < value <= 50.0:
        return float(value)
    raise InputError(f"horizon: {value!r} must be a number of years, above 0 and at most 50")


def write_starting_plan(folder: Path, directory: Path, growth: str) -> Path:
    """Write a plan for the store of `folder` to `directory`; return its path.

    `folder`: of `lsmlab import`, or of a run. `growth`: growth of the rate per year, such as 40%. Raises InputError for
    any other folder.
    """
    baseline = read_baseline(str(folder))
    if (folder / "experiment" / "imported.yaml").is_file():
        load = "set: [experiment=imported]  # the rate is the mean of the load that the store accepted"
    else:
        rate = (baseline.recorded or {}).get("ops_per_s")
        if not rate:
            raise InputError(f"{folder}: its summary.json has no throughput; write a plan file (docs/reference/plan.md)")
        load = f"rate: {rate:.4g}  # operations/s on average: the throughput of the run"
    own = str(baseline.compose()["device"].get("name"))
    devices = dict.fromkeys((own, "sata", "nvme"))
    path = directory / FILE
    path.write_text(
        _TEXT.format(
            run=folder.resolve(), path=display_path(path), name=folder.name, load=load, growth=growth, devices=", ".join(devices)
        ),
        encoding="utf-8",
    )
    return path
