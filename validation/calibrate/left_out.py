"""Errors on unseen cases: each case of the calibration part is simulated with constants fitted to all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.sim.simulation import Setting, simulate
from lsmlab.validation.calibrate.fit import Calibration, fit_runs
from lsmlab.validation.calibrate.parameter_file import quantity_text
from lsmlab.validation.calibrate.solve import Solution
from lsmlab.validation.casefiles.case import FEWEST_FLUSHES, Case, find_cases, read_case

RELATIVE: Final = {"ops_per_s": "throughput", "write_amplification": "W-Amp"}
"""Numbers of summary.json that are compared as a ratio, and their names in the table."""
STALL: Final = "stall_fraction"
_SEEDS: Final = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One case, simulated with constants that were fitted to all other cases."""

    case: str
    errors: Mapping[str, float]
    """Median over seeds, by number of summary.json: simulated / recorded - 1, for stall_fraction the difference."""
    at_prior: tuple[str, ...]
    """Constants that only this case determines; without it they stay at their priors."""


def leave_one_out(folder: Path, found: Calibration) -> Iterator[LeftOut]:
    """Yield each recorded case below `folder`, predicted from the others. `found`: the fit to all of them.

    Raises InputError if there are fewer than two cases.
    """
    cases = {case.name: case for case in map(read_case, find_cases(folder)) if case.logs}
    if len(cases) < 2:
        raise InputError(f"{folder}: contains one recorded case; --leave-one-out needs at least two")
    for name in found.cases:
        _, others = fit_runs(found.device, [run for run in found.runs if run.case != name])
        lost = determined(found.solution) - determined(others)
        yield LeftOut(name, errors_of(cases[name], others, _SEEDS, assertions=found.assertions), tuple(sorted(lost)))


def determined(solution: Solution) -> set[str]:
    """Return the constants that the runs of a fit determine."""
    return set(solution.values) - set(solution.undetermined())


def errors_of(case: Case, others: Solution, seeds: Sequence[int], *, assertions: bool) -> dict[str, float]:
    """Return the errors of a case that is simulated with the constants of a fit, as in `LeftOut`.

    `assertions`: whether the recordings have them, so that this build is simulated.
    """
    constants = [f"host.assertions={int(assertions)}"]
    return errors_with(case, [*constants, *constant_texts(others.values)], seeds)


def constant_texts(values: Mapping[str, float | str]) -> list[str]:
    """Return constants by key as overrides, rounded as in a parameter file."""
    return [f"{key}={quantity_text(key.partition('.')[2], value)}" for key, value in values.items()]


def errors_with(case: Case, overrides: Sequence[str], seeds: Sequence[int]) -> dict[str, float]:
    """Return the errors of a case that is simulated with further overrides, as in `LeftOut`."""
    summaries = [simulate(Setting.of(case.config([*overrides, f"seed={seed}"]))).summary for seed in seeds]
    errors = {}
    for name in (*RELATIVE, STALL):
        real = case.measured.get(name)
        if name == "write_amplification" and case.measured.get("flush_count", FEWEST_FLUSHES) < FEWEST_FLUSHES:
            continue
        if real is not None:
            values = [summary[name] for summary in summaries]
            errors[name] = float(np.median(values)) - real if name == STALL else float(np.median(values)) / real - 1.0
    return errors


def table(rows: Sequence[LeftOut]) -> str:
    """Return a Markdown table of all cases, with median and worst of the absolute errors."""
    head = [*RELATIVE.values(), "stall"]
    lines = ["| case | " + " | ".join(head) + " | constants that only this case determines |", "|" + "---|" * (len(head) + 2)]
    for row in rows:
        cells = [error_text(name, row.errors.get(name), sign="+") for name in (*RELATIVE, STALL)]
        lines.append(f"| {row.case} | " + " | ".join(cells) + f" | {', '.join(row.at_prior)} |")
    for label, summary in (("median", np.median), ("worst", np.max)):
        errors = {name: [abs(row.errors[name]) for row in rows if name in row.errors] for name in (*RELATIVE, STALL)}
        cells = [error_text(name, float(summary(of)) if of else None) for name, of in errors.items()]
        lines.append(f"| **{label}** | " + " | ".join(cells) + " | |")
    return "\n".join(lines) + "\n"


def error_text(name: str, error: float | None, sign: str = "") -> str:
    """Return an error in per cent or points; empty for None."""
    if error is None:
        return ""
    return f"{100.0 * error:{sign}.1f} {'points' if name == STALL else '%'}"
