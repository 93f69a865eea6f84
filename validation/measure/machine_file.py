"""The file of a measured machine: a parameter set, with what was not determined and how busy the machine was."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Final

from lsmlab.validation.calibrate.fit import Calibration
from lsmlab.validation.calibrate.set_text import parameter_set
from lsmlab.validation.calibrate.solve import Solution
from lsmlab.validation.measure.drive import DriveFacts
from lsmlab.validation.measure.patterns import Timings

COMMAND: Final = "lsmlab measure"
_WIDTH: Final = 120
_DIRECT: Final = "requests to the drive alone"
"""Source of the constants of the device that are measured one by one."""


@dataclass(frozen=True, kw_only=True)
class MeasuredMachine:
    """Result of a measurement."""

    calibration: Calibration
    """Fit of the drive's requests and of the runs of RocksDB, if there were any."""
    drive: DriveFacts
    times: Timings
    """Times of the requests to the drive, by the name of their pattern."""
    disk: str
    """Name of the drive."""
    seconds: float
    busy: Mapping[str, float]
    doubts: Sequence[str]
    """Why the machine was too busy for a good measurement; empty: it was quiet."""
    unknown: Sequence[str]
    """What was not determined, as sentences."""

    @property
    def device(self) -> dict[str, float]:
        """Constants of the drive, in base units."""
        return {**self.calibration.fitted("device"), **self.drive.constants}


def machine_text(found: MeasuredMachine, date: str) -> str:
    """Return the content of the file: docs/reference/cases.md describes it, docs/how-to/measure.md how it comes about."""
    fit = found.calibration
    entry = fit.device
    usual = parameter_set(fit)
    runs = f"{len(fit.runs)} short runs of RocksDB {fit.release}" if fit.runs else "none; the drive alone"
    about = ", ".join(f"{key}: {value:g}" for key, value in found.busy.items())
    text = str(
        replace(
            usual,
            about=(f"Written by: {COMMAND}. Use: machine=FILE",),
            head=(
                "version: 1",
                f"description: {fit.cores} cores and the drive {found.disk}, measured {date}",
                "provenance:",
                f"  runs: {runs}",
                f"  busy: {{{about}}}",
                f"  method: {COMMAND}; LSMLab {version('lsmlab')}; docs/how-to/measure.md; {found.seconds:.0f} s",
            ),
            host=usual.host if fit.runs else {},
            devices={entry: {**usual.devices[entry], **found.drive.constants}},
            device_errors={entry: {**usual.device_errors[entry], **found.drive.errors}},
            sources={**usual.sources, **{f"device.{key}": _DIRECT for key in found.drive.constants}},
        )
    )
    not_determined = "Not determined; the values of configs/host and configs/device, or of their priors, stay"
    comments = {"Busy": found.doubts, "Found": found.drive.notes, not_determined: found.unknown}
    return text + _limits(found.drive.limits) + "".join(_comments(title, texts) for title, texts in comments.items())


def _limits(limits: Mapping[str, float]) -> str:
    shown = [f"{key}: {value:.0f}" if key == "iops_cap" else f"{key}: {value / 1e6:.4g}MB/s" for key, value in limits.items()]
    return f"limits: {{{', '.join(shown)}}}\n" if shown else ""


def _comments(title: str, sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    lines = [f"# {title}:"]
    for sentence in sentences:
        lines += textwrap.wrap(sentence, _WIDTH, initial_indent="# - ", subsequent_indent="#   ")
    return "\n".join(lines) + "\n"


def stay_at_prior(solution: Solution) -> str:
    """Return the constants of the equations that the measurement does not determine, as a sentence; empty for none."""
    found = solution.undetermined()
    return f"constants held at their priors: {', '.join(found)}" if found else ""
