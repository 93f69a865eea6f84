"""Output of a calibration: parameter file, report and JSON, with the constants that the data do not separate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.sim.yaml_text import read_yaml
from lsmlab.validation.calibrate.fit import Calibration, core_speed
from lsmlab.validation.calibrate.parameter_file import UNDETERMINED, SetText, quantity_text
from lsmlab.validation.calibrate.solve import Solution

COMMAND: Final = "lsmlab calibrate"
"""Command in the parameter file. Its arguments are left out, since they are paths of one machine."""
VERSION: Final = 2
"""Version of the fitted sets; version 1 had the defaults."""
_SOURCES: Final = Path(__file__).with_name("sources.yaml")
_ASSERTED: Final = ("RocksDB was built with assertions; the constants are those of a release build (host.assertions).", "")
_NO_READS: Final = "assumption: as cpu_speed; no run reads from a cache"
_WEAK: Final = 1.0
"""If the singular value of a combination of constants is below this, the priors determine it better than the data
do."""
_STRONG: Final = 0.3
"""Least component of a combination (a unit vector) for its constant to be named."""


def parameter_text(found: Calibration) -> str:
    """Return the content of the parameter file; the same recordings give the same bytes."""
    return str(parameter_set(found))


def parameter_set(found: Calibration) -> SetText:
    """Return the parameter set of a calibration, before it is written as text."""
    undetermined = set(found.solution.undetermined())
    fitted = {group: found.fitted(group) for group in ("host", "device")}
    errors = {
        group: {k: found.solution.error(f"{group}.{k}") for k in values if f"{group}.{k}" not in undetermined}
        for group, values in fitted.items()
    }
    return (
        SetText(
            about=(f"Written by: {COMMAND}",),
            head=(
                f"version: {VERSION}",
                f"description: {found.cores} cores, the machine of the recorded cases",
                "provenance:",
                f"  runs: {len(found.runs)} runs of db_bench {found.release}, recorded {found.recorded}",
                f"  cases: [{', '.join(found.cases)}]",
                f"  inputs_sha256: {found.digest}",
                f"  method: {COMMAND}; LSMLab {version('lsmlab')}; docs/how-to/calibrate.md",
            ),
            host={"cores": found.cores, "assertions": float(found.assertions), **_speeds(fitted["host"]), **fitted["host"]},
            devices={found.device: fitted["device"]},
            host_errors=errors["host"],
            device_errors={found.device: errors["device"]},
            errors_from="clustered by run; none for constants that the runs hardly determine",
            sources={
                name: f"{UNDETERMINED}{source}" if name in undetermined else source
                for name, source in _sources(found).items()
            } | ({} if "read_speed" in fitted["host"] else {"host.read_speed": _NO_READS}),
        )
    )


def _speeds(fitted: Mapping[str, float]) -> dict[str, float]:
    """Return the speed of a core; without cached reads, that of reads is the same."""
    speed = core_speed({f"host.{name}": value for name, value in fitted.items()})
    return {"cpu_speed": speed, "read_speed": speed}


def _sources(found: Calibration) -> dict[str, str]:
    """Return the source of each constant: from sources.yaml, otherwise the names of the equations that contain it."""
    names: dict[str, list[str]] = {}
    for equation in found.equations:
        for key in equation.keys:
            names.setdefault(key, []).append(equation.name)
    return {**{key: ", ".join(equations) for key, equations in names.items()}, **read_yaml(_SOURCES)}


def report_text(found: Calibration) -> str:
    """Return the report for the terminal: constants, errors, misfit of each equation, and identifiability."""
    solution, cases = found.solution, len(found.cases)
    lines = [
        f"{found.machine}: {found.cores} cores, device {found.device}; {len(found.runs)} runs of "
        f"{cases} {'case' if cases == 1 else 'cases'}, RocksDB {found.release}, recorded {found.recorded}", "",
        *(_ASSERTED if found.assertions else ()),
        f"{'constant':<26}{'value':>12}{'error':>12}{'':>8}{'prior':>12}",
    ]  # fmt: skip
    undetermined = set(solution.undetermined())
    for constant in solution.constants:
        key = constant.key
        error = solution.relative_errors[key]
        note = "  stays at its prior" if key in undetermined else ""
        lines.append(
            f"{key:<26}{quantity_text(key, solution.values[key]):>12}{quantity_text(key, solution.error(key)):>12}"
            f"{100 * error:>6.0f} %{quantity_text(key, constant.prior):>12}{note}"
        )
    lines += [
        "",
        f"{'equation':<28}{'values':>8}{'scatter':>9}{'bias':>7}   run with the largest bias (in units of the assumed scatter)",
    ]
    for equation in found.equations:
        misses = solution.residuals[equation.name]
        run, far = _furthest(misses, equation.clusters)
        lines.append(
            f"{equation.name:<28}{len(misses):>8}{math.sqrt(float(np.mean(misses**2))):>9.2f}{float(np.mean(misses)):>7.2f}"
            f"   {run} {far:+.2f}"
        )
    return "\n".join([*lines, "", *identifiability(solution)]) + "\n"


def _furthest(misses: Any, clusters: Any) -> tuple[str, float]:
    names = np.array(clusters)
    means = {name: float(misses[names == name].mean()) for name in sorted(set(clusters))}
    name = max(means, key=lambda n: abs(means[n]))
    return name, means[name]


def identifiability(solution: Solution) -> list[str]:
    """Return sentences about constants that the runs do not determine, or do not separate from each other."""
    lines = []
    undetermined = solution.undetermined()
    if undetermined:
        lines.append(f"The runs do not determine {', '.join(undetermined)}: values and errors are those of the priors.")
    for first, second, correlation in solution.inseparable_pairs():
        lines.append(f"The runs do not separate {first} from {second} (correlation of errors {correlation:+.2f}).")
    groups: dict[tuple[str, ...], float] = {}
    for value, direction in zip(solution.singular_values, solution.directions, strict=False):
        strong = tuple(c.key for c, x in zip(solution.constants, direction, strict=True) if abs(x) > _STRONG)
        if value < _WEAK and len(strong) > 1:
            groups[strong] = min(value, groups.get(strong, math.inf))
    for keys, value in groups.items():
        lines.append(f"The runs do not separate {', '.join(keys)} from each other (singular value {value:.2g}).")
    for constant in solution.constants:
        if constant.high < math.inf and solution.values[constant.key] > 0.995 * constant.high:
            lines.append(f"{constant.key} is at the upper end of its range: the model lacks an effect there.")
    return lines or ["The runs determine all constants."]


def document(found: Calibration) -> dict[str, Any]:
    """Return the calibration as a JSON document."""
    solution = found.solution
    undetermined = set(solution.undetermined())
    return {
        "machine": found.machine, "device": found.device, "cores": found.cores, "cases": list(found.cases),
        "runs": [run.name for run in found.runs], "release": found.release, "recorded": found.recorded,
        "inputs_sha256": found.digest, "assertions": found.assertions,
        "constants": {
            c.key: {
                "value": solution.values[c.key], "standard_error": solution.error(c.key), "prior": c.prior,
                "prior_width": c.width, "informed": c.key not in undetermined,
            }
            for c in solution.constants
        },
        "equations": {
            e.name: {
                "values": len(e.clusters), "scatter": math.sqrt(float(np.mean(solution.residuals[e.name] ** 2))),
                "bias": float(np.mean(solution.residuals[e.name])),
            }
            for e in found.equations
        },
        "singular_values": solution.singular_values.tolist(),
        "alike": [list(pair) for pair in solution.inseparable_pairs()],
        "identifiability": identifiability(solution),
    }  # fmt: skip
