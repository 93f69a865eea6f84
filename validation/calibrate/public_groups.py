"""Generalisation over the public runs of the 40-thread machine: groups of runs, predicted without their LOGs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.validation.calibrate.group_out import KINDS, SEEDS, Configuration, GroupOut
from lsmlab.validation.calibrate.left_out import constant_texts, errors_with
from lsmlab.validation.calibrate.public_fits import Machine, Source
from lsmlab.validation.casefiles.case import Case
from lsmlab.validation.casefiles.public.cases import public_cases, session_of
from lsmlab.validation.casefiles.public.table import FIRST, SECOND

Refit = Callable[[Sequence[Source], Sequence[Source]], Machine]
"""Fit to the LOGs of calibration runs, and to those that tell the bandwidth of a drive in a session only."""
_MACHINE: Final = "xeon_6230"
_BANDWIDTH: Final = "device.write_bandwidth"


def _jobs(config: Configuration) -> int:
    return int(config["engine"]["options"]["max_background_jobs"])


GROUPS: Final[Mapping[str, Callable[[Configuration], bool]]] = MappingProxyType({
    "an NVMe SSD": lambda config: config["device"]["name"] == "nvme",
    "a SATA SSD": lambda config: config["device"]["name"] == "sata",
    "a hard disk": lambda config: config["device"]["name"] == "hdd",
    "persistent memory": lambda config: config["device"]["name"] == "pmem",
    **{kind: KINDS[kind] for kind in ("values of 100 bytes and less", "values of 1000 bytes and more")},
    "a YCSB load": lambda config: config["workload"]["_target_"].endswith(".FillUniqueRandom"),
    "a limit on the client's rate": lambda config: bool(config["workload"].get("benchmark_write_rate_limit")),
    "a cap on device writes": lambda config: bool(config["device"]["write_cap"]),
    "4 to 8 background jobs": lambda config: 4 <= _jobs(config) <= 8,
    "10 to 20 background jobs": lambda config: _jobs(config) >= 10,
    "clients that read": KINDS["clients that read"],
})  # fmt: skip
"""Groups of runs by their names: conditions on the configuration of a case. A run may be in several groups."""


def machine_cases(data: Path) -> list[Case]:
    """Return the public runs of the machine, of both halves if `data` has the second one beside it."""
    halves = [FIRST, *([SECOND] if data.with_name("public_runs_2").is_dir() else [])]
    return [case for half in halves for case in public_cases(data, folder=half) if _on_machine(case)]


def _on_machine(case: Case) -> bool:
    return bool(case.config()["host"]["parameters"] == _MACHINE)


def leave_public_group_out(
    cases: Sequence[Case], used: Sequence[Source], drives: Sequence[Source], refit: Refit,
    report: Callable[[str], None] = lambda _line: None,
) -> Iterator[GroupOut]:  # fmt: skip
    """Yield each group of `cases`, predicted by a fit without the LOGs of its runs.

    `used` and `drives` are the LOGs of the fit to all (`Refit`). Groups without a case, and groups without which the fit
    has no LOG, are left out. `report` gets a line for each group. Raises InputError without a case.
    """
    if not cases:
        raise InputError("the data contain no run of the 40-thread machine; name another folder by --data")
    found = refit(used, drives)
    configs = {case.name: case.config() for case in cases}
    known: dict[tuple[str, ...], Mapping[str, float]] = {}

    def errors(case: Case, machine: Machine) -> Mapping[str, float]:
        constants = constants_of(case, str(configs[case.name]["device"]["name"]), machine)
        key = (case.name, *constants)
        if key not in known:
            known[key] = errors_with(_without_session(case), constants, SEEDS)
        return known[key]

    for group, of_group in GROUPS.items():
        scored = [case for case in cases if of_group(configs[case.name])]
        names = {case.name for case in scored}
        kept, kept_drives = ([source for source in some if source.name not in names] for some in (used, drives))
        if not scored or not kept:
            continue
        left_out = sorted(source.name for source in (*used, *drives) if source.name in names)
        machine = refit(kept, kept_drives) if left_out else found
        here = sorted({str(configs[name]["device"]["name"]) for name in names})
        lost = found.determined(here) - machine.determined(here)
        yield GroupOut(
            group, tuple(left_out), {case.name: errors(case, machine) for case in scored}, tuple(sorted(lost)),
            {case.name: errors(case, found) for case in scored},
        )  # fmt: skip
        report(f"runs with {group}: {len(scored)} simulated")


def constants_of(case: Case, drive: str, machine: Machine) -> list[str]:
    """Return a fit's constants for a case on a drive, as overrides.

    A drive has the write bandwidth of the case's session, on a hard disk that of the run's tracks, or else its mean; a drive
    without a LOG has the constants of configs/device. They replace those of the case's parameter set, which is fitted to all
    runs.
    """
    constants = machine.constants(drive)
    session = machine.sessions.get(session_of({"source": case.source}), {})
    of_session = session.get(f"{drive}/{_label(case.config())}", session.get(drive, {}))
    constants |= {f"device.{name}": value for name, value in of_session.items()}
    return ["host.parameters=null", *constant_texts(constants)]


def _label(config: Configuration) -> str:
    """Return the label of a run among those that followed each other on a hard disk (`consecutive` in tables/common.yaml)."""
    limit = config["workload"].get("benchmark_write_rate_limit")
    return f"{parse_quantity(limit, 'bytes_per_s') / 1e6:.0f}" if limit else str(_jobs(config))


def _without_session(case: Case) -> Case:
    """Return a case without the write bandwidth of its session, which is fitted to all runs."""
    return replace(case, overrides=tuple(text for text in case.overrides if not text.startswith(f"{_BANDWIDTH}=")))
