"""Hold-out errors of a fit: cases, or all runs of a kind, are simulated with constants that were fitted to the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.models.workloads.make import make_workload
from lsmlab.sim.simulation import Setting, simulate
from lsmlab.sim.studies.request import argument, option
from lsmlab.validation.calibrate.fit import Calibration, calibrate_cases, fit_runs
from lsmlab.validation.calibrate.parameter_file import quantity_text
from lsmlab.validation.calibrate.recorded import RecordedRun
from lsmlab.validation.calibrate.solve import Solution
from lsmlab.validation.casefiles.case import FEWEST_FLUSHES, Case, find_cases, read_case
from lsmlab.validation.checkout import OWN_CASES, source_tree_or_error
from lsmlab.validation.markdown import table

CASES: Final = OWN_CASES / "calibration"
"""Cases to which constants are fitted by default."""
Configuration = Mapping[str, Any]
_RELATIVE: Final = {"ops_per_s": "throughput", "write_amplification": "W-Amp"}
"""Numbers of summary.json that are compared as a ratio, and their names in the table."""
_STALL: Final = "stall_fraction"
_CASE_SEEDS: Final = (1, 2, 3)
_GROUP_SEEDS: Final = (1,)
"""Seeds of each simulated run; the errors of a kind are those of several runs."""


@dataclass(frozen=True, kw_only=True)
class CalibrateRequest:
    """Fit the CPU and device constants of a machine to runs that 'lsmlab record' recorded on it, by bounded least squares over job records, histograms and counters, with priors from configs/host/default and configs/device. Only cases of the calibration part are accepted. The report names the constants that the runs do not separate."""  # noqa: E501 (help text)

    cases: Path | None = argument(
        "CASES", "folder of recorded cases (validation/cases/calibration of the source tree)", optional=True
    )
    leave_one_out: bool = option(False, "also simulate each case with constants fitted to all others")
    leave_group_out: bool = option(
        False, "also simulate all runs of a kind (a WAL, no cap, ...) with constants fitted to the other kinds"
    )
    also: tuple[Path, ...] = option(
        (),
        "with --leave-group-out: a further folder of recorded cases of this machine to simulate; may be repeated "
        "(without CASES: validation/cases/test)",
        metavar="CASES",
    )


@dataclass(frozen=True, slots=True)
class HeldOut:
    """One case, or all runs of a kind, simulated with constants that were fitted to the others."""

    name: str
    """Case, or kind of run."""
    left_out: tuple[str, ...]
    """Calibration cases that the fit did not use; empty if the calibration part has none of this kind."""
    errors: Mapping[str, Mapping[str, float]]
    """By case, median over seeds by number of summary.json: simulated / recorded - 1, for stall_fraction the difference."""
    at_prior: tuple[str, ...]
    """Constants that only the cases left out determine; without them they stay at their priors."""


def _option(config: Configuration, key: str) -> Any:
    return config["engine"]["options"][key]


def _device(config: Configuration, *keys: str) -> bool:
    return any(config["device"][key] for key in keys)


def _value_bytes(config: Configuration) -> float:
    return make_workload(config["workload"]).value_bytes


KINDS: Final[Mapping[str, Callable[[Configuration], bool]]] = MappingProxyType({
    "a WAL": lambda config: not _option(config, "disable_wal"),
    "several client threads": lambda config: sum(c.threads for c in make_workload(config["workload"]).clients) > 1,
    "clients that read": lambda config: any(c.mix.writes < 1.0 for c in make_workload(config["workload"]).clients),
    "no cap and no rate limiter": lambda config: not (
        _device(config, "write_cap", "read_cap", "iops_cap") or _option(config, "rate_limiter_bytes_per_sec")
    ),
    "a cap on operations": lambda config: _device(config, "iops_cap"),
    "a rate limiter": lambda config: bool(_option(config, "rate_limiter_bytes_per_sec")),
    "dynamic level sizes": lambda config: bool(_option(config, "level_compaction_dynamic_level_bytes")),
    "universal or FIFO compaction": lambda config: _option(config, "compaction_style") not in (None, "level"),
    "values of 100 bytes and less": lambda config: _value_bytes(config) <= 100.0,
    "values of 1000 bytes and more": lambda config: _value_bytes(config) >= 1000.0,
    "memtables of 16 MiB and more": lambda config: parse_quantity(_option(config, "write_buffer_size"), "bytes") >= 2**24,
})  # fmt: skip
"""Kinds of run by their names: conditions on the configuration of a case. A run may be of several kinds."""


def calibrated(request: CalibrateRequest) -> tuple[Calibration, list[HeldOut], list[HeldOut]]:
    """Return the fit, and the errors of the cases and kinds that were left out, if asked for.

    Raises InputError for options that exclude each other, and for what `calibrate_cases` refuses.
    """
    if request.also and not request.leave_group_out:
        raise InputError("--also: only --leave-group-out simulates further cases")
    if request.cases is None:
        source_tree_or_error("calibrate: its default is LSMLab's recorded cases", "name a folder of recorded cases of your own")
    folder = request.cases or CASES
    found = calibrate_cases(folder)
    also = request.also or (() if request.cases else (OWN_CASES / "test",))
    cases = list(leave_one_out(folder, found)) if request.leave_one_out else []
    groups = list(leave_group_out([folder, *also], found)) if request.leave_group_out else []
    return found, cases, groups


def leave_one_out(folder: Path, found: Calibration) -> Iterator[HeldOut]:
    """Yield each recorded case below `folder`, predicted from the others. `found`: the fit to all of them.

    Raises InputError if there are fewer than two cases.
    """
    cases = {case.name: case for case in map(read_case, find_cases(folder)) if case.logs}
    if len(cases) < 2:
        raise InputError(f"{folder}: contains one recorded case; --leave-one-out needs at least two")
    for name in found.cases:
        yield _predicted(name, [cases[name]], [run for run in found.runs if run.case != name], found, _CASE_SEEDS)


def leave_group_out(folders: Sequence[Path], found: Calibration) -> Iterator[HeldOut]:
    """Yield each kind of run in `folders`, predicted from the other kinds of the fit `found`.

    Kinds that no case has, and kinds without which the fit has no case, are left out. Raises InputError without a case of
    the fit's machine.
    """
    cases = [case for folder in folders for case in map(read_case, find_cases(folder)) if case.logs]
    on_machine = [(case, config) for case in cases if (config := case.config([]))["host"]["parameters"] == found.machine]
    if not on_machine:
        raise InputError(f"{', '.join(map(str, folders))}: contain no recorded case with host.parameters={found.machine}")
    for kind, of_kind in KINDS.items():
        scored = [case for case, config in on_machine if of_kind(config)]
        used = [run for run in found.runs if not of_kind(run.config)]
        if scored and used:
            yield _predicted(kind, scored, used, found, _GROUP_SEEDS)


def _predicted(
    name: str, scored: Sequence[Case], used: Sequence[RecordedRun], found: Calibration, seeds: Sequence[int]
) -> HeldOut:
    """Return cases simulated with a fit to the runs `used`, which is compared with the fit to all runs, `found`."""
    _, others = fit_runs(found.device, used)
    left_out = sorted({run.case for run in found.runs} - {run.case for run in used})
    errors = {case.name: _errors_of(case, others, seeds, assertions=found.assertions) for case in scored}
    return HeldOut(name, tuple(left_out), errors, _lost(found.solution, others))


def _lost(every: Solution, others: Solution) -> tuple[str, ...]:
    """Return the constants that the fit to all runs determines and the fit to the others does not."""
    determined, still = (set(fit.values) - set(fit.undetermined()) for fit in (every, others))
    return tuple(sorted(determined - still))


def _errors_of(case: Case, others: Solution, seeds: Sequence[int], *, assertions: bool) -> dict[str, float]:
    """Return the errors of a case that is simulated with the constants of a fit, as in `HeldOut`.

    `assertions`: whether the recordings have them, so that this build is simulated.
    """
    constants = [f"{key}={quantity_text(key.partition('.')[2], value)}" for key, value in others.values.items()]
    overrides = [f"host.assertions={int(assertions)}", *constants]
    summaries = [simulate(Setting.of(case.config([*overrides, f"seed={seed}"]))).summary for seed in seeds]
    errors = {}
    for name in (*_RELATIVE, _STALL):
        real = case.measured.get(name)
        if name == "write_amplification" and case.measured.get("flush_count", FEWEST_FLUSHES) < FEWEST_FLUSHES:
            continue
        if real is not None:
            values = [summary[name] for summary in summaries]
            errors[name] = float(np.median(values)) - real if name == _STALL else float(np.median(values)) / real - 1.0
    return errors


def case_table(rows: Sequence[HeldOut]) -> str:
    """Return a Markdown table of all cases, with median and worst of the absolute errors."""
    head = [*_RELATIVE.values(), "stall"]
    lines = ["| case | " + " | ".join(head) + " | constants that only this case determines |", "|" + "---|" * (len(head) + 2)]
    found = [row.errors[row.name] for row in rows]
    for row, errors in zip(rows, found, strict=True):
        cells = [_error_text(name, errors.get(name), sign="+") for name in (*_RELATIVE, _STALL)]
        lines.append(f"| {row.name} | " + " | ".join(cells) + f" | {', '.join(row.at_prior)} |")
    for label, summary in (("median", np.median), ("worst", np.max)):
        sizes = {name: [abs(errors[name]) for errors in found if name in errors] for name in (*_RELATIVE, _STALL)}
        cells = [_error_text(name, float(summary(of)) if of else None) for name, of in sizes.items()]
        lines.append(f"| **{label}** | " + " | ".join(cells) + " | |")
    return "\n".join(lines) + "\n"


def group_table(groups: Sequence[HeldOut]) -> str:
    """Return a Markdown table of all kinds, with median, P90 and worst of the absolute errors."""
    head = ("runs with", "runs", "left out of the fit", *_RELATIVE.values(), "stall", "constants that only these determine")
    rows = [
        [
            group.name, str(len(group.errors)), str(len(group.left_out) or "none in it"),
            *(_summary(name, group.errors) for name in (*_RELATIVE, _STALL)), ", ".join(group.at_prior),
        ]
        for group in groups
    ]  # fmt: skip
    return table(head, rows) + "\n"


def _summary(name: str, errors: Mapping[str, Mapping[str, float]]) -> str:
    sizes = [abs(of_case[name]) for of_case in errors.values() if name in of_case]
    if not sizes:
        return ""
    shown = (float(np.median(sizes)), float(np.quantile(sizes, 0.9, method="inverted_cdf")), max(sizes))
    texts = [_error_text(name, size) for size in shown]
    unit = texts[0].partition(" ")[2]
    return " / ".join(text.partition(" ")[0] for text in texts) + f" {unit}"


def _error_text(name: str, error: float | None, sign: str = "") -> str:
    return "" if error is None else f"{100.0 * error:{sign}.1f} {'points' if name == _STALL else '%'}"
