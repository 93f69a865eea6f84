"""Calibration of one machine: fit of its constants, with priors and standard errors, to recorded runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from lsmlab.models.costs.assertions import ASSERTED
from lsmlab.models.costs.host import Host, entry_speed, priors_of
from lsmlab.models.devices.make import DeviceSettings
from lsmlab.models.errors import InputError
from lsmlab.models.units import build, parse_quantity
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.yaml_text import read_yaml
from lsmlab.validation.calibrate import client_equations as clients
from lsmlab.validation.calibrate import job_equations as jobs
from lsmlab.validation.calibrate import short_writes as short
from lsmlab.validation.calibrate.recorded import RecordedRun, read_run
from lsmlab.validation.calibrate.solve import HELD, Equation, FitConstant, Solution, solve, solve_pinned
from lsmlab.validation.casefiles.case import Case, find_cases, read_case

PART: Final = "calibration"
_EQUATIONS: Final[Sequence[Callable[[Sequence[RecordedRun]], Equation | None]]] = (
    jobs.compaction_cpu, jobs.flush_cpu, jobs.device_writes, jobs.device_reads, jobs.finishing,
    jobs.core_waits, clients.fills, short.interruptions, clients.sleeps, clients.read_cpu, clients.read_waits,
)  # fmt: skip
"""Each predicts a measurement as the simulation computes it, and gives the scatter of single measurements."""
_DEVICE_WIDTHS: Final[Mapping[str, float]] = {
    "read_bandwidth": 0.7, "write_bandwidth": 0.7, "read_latency": 0.7, "write_latency": 0.7, "fsync_latency": 1.0,
    "read_iops": 1.5,
}  # fmt: skip
"""Spread of a constant of configs/device over drives of the same class: standard deviation of its logarithm. Of `read_iops`:
virtual drives included, whose host may serve one request after the other."""
_DEVICE_STARTS: Final[Mapping[str, float]] = {"read_iops": 0.1}
"""`FitConstant.start` of a constant of configs/device, if not 1: about the IOPS of a virtual drive that serves one request
after the other; at those of a drive of its class, reads hardly wait for each other."""
_DEVICE_KINDS: Final[Mapping[str, str]] = {"bandwidth": "bytes_per_s", "iops": "per_s"}
"""Kind of quantity of a constant of configs/device by the last word of its name; the others are times."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Fitted constants of a machine, and the runs to which they were fitted."""

    machine: str
    """Name of the parameter set in the cases (host.parameters)."""
    device: str
    """Entry of configs/device in the cases."""
    cores: int
    cases: tuple[str, ...]
    runs: tuple[RecordedRun, ...]
    recorded: str
    """Day of the recordings, or first and last day."""
    release: str
    """RocksDB release of the recordings."""
    digest: str
    """SHA-256 of all files that were read."""
    equations: tuple[Equation, ...]
    solution: Solution

    @property
    def assertions(self) -> bool:
        """Whether the runs' RocksDB was built with assertions."""
        return any(run.assertions for run in self.runs)

    def fitted(self, group: str) -> dict[str, float]:
        """Return the fitted values of the `host` or `device` group, by key without the group."""
        return {k.partition(".")[2]: v for k, v in self.solution.values.items() if k.startswith(f"{group}.")}


def calibrate_cases(folder: Path) -> Calibration:
    """Fit the constants of the machine on which the cases below `folder` were recorded.

    Raises InputError if there is no recorded case, if a case belongs to the test or quarantine part, if the cases are
    from different machines, or if a file is missing or unreadable.
    """
    cases = [read_case(path) for path in find_cases(folder)]
    for case in cases:
        if case.part != PART:
            raise InputError(
                f"{case.directory}: this case is of part: {case.part}; constants are fitted to cases of part: {PART} "
                "only, so that scored cases do not influence them; name a folder of such cases"
            )
    recorded = [(case, _record_block(case)) for case in cases if case.logs]
    if not recorded:
        raise InputError(f"{folder}: contains no recorded case; record the cases with 'lsmlab record {folder}'")
    configs = {case.name: case.config() for case, _ in recorded}
    machine = _one({str(c["host"].get("parameters")) for c in configs.values()}, folder, "host.parameters")
    cores = int(_one({str(block.get("cores", 0)) for _, block in recorded}, folder, "record.cores"))
    _one({str(block.get("cpu", "")) for _, block in recorded}, folder, "record.cpu")
    if cores < 1:
        raise InputError(f"{folder}: a case.yaml has no record.cores; record the case again with 'lsmlab record'")
    devices = {next((o.partition("=")[2] for o in case.overrides if o.startswith("device=")), "nvme") for case, _ in recorded}
    device = _one(devices, folder, "device.base")
    for config in configs.values():
        config["host"]["cores"] = cores
    runs = [
        read_run(log.parent, case.name, configs[case.name])
        for case, _ in sorted(recorded, key=lambda pair: pair[0].name)
        for log in case.logs
    ]
    days = sorted(str(block.get("date", "")) for _, block in recorded)
    releases = sorted({str(block.get("rocksdb", "")) for _, block in recorded})
    equations, solution = fit_runs(device, runs)
    return Calibration(
        machine=machine, device=device, cores=cores, cases=tuple(sorted(case.name for case, _ in recorded)),
        runs=tuple(runs), recorded=days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}",
        release=", ".join(releases), digest=hashlib.sha256("".join(r.digest for r in runs).encode()).hexdigest(),
        equations=equations, solution=solution,
    )  # fmt: skip


def fit_runs(
    device: str, runs: Sequence[RecordedRun], further: Sequence[Equation] = (), *,
    fixed: Mapping[str, Any] = MappingProxyType({}), hold: bool = False, without: Collection[str] = (),
) -> tuple[tuple[Equation, ...], Solution]:  # fmt: skip
    """Return the equations of recorded runs of one machine, and the constants that solve them, those of a release build.

    `device`: entry of configs/device from which the drive's priors are. `further`: equations of other measurements, such as
    those of the drive alone. `fixed`: values of constants that the fit does not change, by key. `hold`: whether constants that
    the equations do not determine stay at their priors (`solve_pinned`). `without`: names of equations to leave out.

    Raises InputError if the device lacks a constant, or if some of the runs have assertions and others do not.
    """
    asserted = [run.assertions for run in runs]
    if any(asserted) and not all(asserted):
        name = runs[asserted.index(False)].name
        raise InputError(f"{name}: its RocksDB has no assertions, other runs have them; calibrate runs of one build at a time")
    assertions = any(asserted)
    speed = _core_speed(device, runs, fixed, assertions=assertions)
    shown = (e for e in equations_of([_at_speed(run, speed) for run in runs]) if e.name not in without)
    equations = (*shown, *further)
    solver = solve_pinned if hold else solve
    found = solver(_constants(device, equations, fixed, speed, assertions=assertions), equations)
    return equations, _of_release_build(found) if assertions else found


def _core_speed(device: str, runs: Sequence[RecordedRun], fixed: Mapping[str, Any], *, assertions: bool) -> float:
    """Return the speed of a core (`Host.cpu_speed`) that the CPU time of the compactions of `runs` shows; 1 without any."""
    equation = jobs.compaction_cpu(runs)
    if equation is None:
        return 1.0
    found = solve(_constants(device, [equation], fixed, 1.0, assertions=assertions), [equation])
    return core_speed((_of_release_build(found) if assertions else found).values)


def _at_speed(run: RecordedRun, speed: float) -> RecordedRun:
    """Return a run on a host of this `cpu_speed`."""
    return replace(run, config={**run.config, "host": {**run.config["host"], "cpu_speed": speed}})


def _constants(
    device: str, equations: Sequence[Equation], fixed: Mapping[str, Any], speed: float, *, assertions: bool
) -> list[FitConstant]:
    """Return the constants of a fit. The prior of the speed of reads is the speed of a core."""
    known = [replace(c, prior=speed) if c.key == READ_SPEED else c for c in constants_for(device, equations)]
    return [_fixed(c, fixed, assertions=assertions) for c in known]


READ_SPEED: Final = "host.read_speed"
_LEAST: Final = 1e-15
"""Value in place of 0, whose logarithm the fit cannot take."""


def _fixed(constant: FitConstant, fixed: Mapping[str, Any], *, assertions: bool) -> FitConstant:
    """Return the constant with a prior that holds it at its value in `fixed`, that of a release build, if it has one there."""
    if constant.key not in fixed:
        return constant
    value = quantity_of(constant.key, fixed[constant.key])
    if assertions:
        value *= ASSERTED.get(constant.key.removeprefix("host."), 1.0)
    return replace(constant, prior=max(value, _LEAST), width=HELD, start=1.0)


def quantity_of(key: str, value: Any) -> float:
    """Return a value of `host` or `device` in base units; `key`: its configuration key. Raises InputError for a bad value."""
    group, _, name = key.partition(".")
    declared = {f.name: f for f in fields(Host)} if group == "host" else {}
    if name in declared:
        return parse_quantity(value, declared[name].metadata["quantity"].kind)
    return parse_quantity(value, _DEVICE_KINDS.get(name.rpartition("_")[2], "seconds"))


def core_speed(values: Mapping[str, float]) -> float:
    """Return the speed of a core relative to `host=default`, from fitted values by key; other constants have their defaults."""
    host = {key.removeprefix("host."): value for key, value in values.items() if key.startswith("host.")}
    return entry_speed(replace(Host(), **host))


def _of_release_build(solution: Solution) -> Solution:
    """Return the constants of a release build from those of runs with assertions. The priors count as times with assertions."""
    ratios = {f"host.{name}": ratio for name, ratio in ASSERTED.items()}
    return replace(
        solution,
        constants=tuple(replace(c, prior=c.prior / ratios.get(c.key, 1.0)) for c in solution.constants),
        values={key: value / ratios.get(key, 1.0) for key, value in solution.values.items()},
    )


def equations_of(runs: Sequence[RecordedRun]) -> list[Equation]:
    """Return the equations for which these runs have measurements."""
    return [equation for make in _EQUATIONS if (equation := make(runs)) is not None]


def constants_for(device: str, equations: Sequence[Equation]) -> list[FitConstant]:
    """Return the constants in the equations, with priors from configs/host/default and configs/device/`device`.

    Raises InputError if the device lacks a constant of the equations.
    """
    config = compose([f"device={device}"])
    about = ("description", "parameters")
    host = build(Host, {k: v for k, v in config["host"].items() if k not in about}, "host")
    known = [
        FitConstant(f"host.{key}", getattr(host, key) or prior.value, prior.width, prior.high)
        for key, prior in priors_of(Host).items()
    ]
    for key, width in _DEVICE_WIDTHS.items():
        kind = _DEVICE_KINDS.get(key.rpartition("_")[2], "seconds")
        value = config["device"].get(key, getattr(DeviceSettings, key, None))
        if value is not None:
            start = _DEVICE_STARTS.get(key, 1.0)
            known.append(FitConstant(f"device.{key}", parse_quantity(value, kind), width, start=start))
    used = {key for equation in equations for key in equation.keys}
    missing = used - {c.key for c in known}
    if missing:
        raise InputError(f"device={device}: lacks {', '.join(sorted(missing))}, which the fit needs; add them there")
    return [c for c in known if c.key in used]


def _record_block(case: Case) -> Mapping[str, Any]:
    block = read_yaml(case.directory / "case.yaml").get("record")
    return block if isinstance(block, Mapping) else {}


def _one(found: set[str], folder: Path, key: str) -> str:
    if len(found) != 1:
        raise InputError(
            f"{folder}: {key} differs between cases ({', '.join(sorted(found))}); calibrate one machine at a time"
        )
    return found.pop()
