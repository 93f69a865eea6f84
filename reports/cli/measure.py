"""The verb `measure`: measure this machine's drive and cores, and write them as a file for machine=PATH."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Final

from lsmlab.reports.cli.arguments import parser_of, read
from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.validation.calibrate.parameter_file import quantity_text
from lsmlab.validation.measure.machine_file import MeasuredMachine
from lsmlab.validation.measure.measuring import Plan, measure, plan_of
from lsmlab.validation.measure.nearest import nearest, nearest_text
from lsmlab.validation.measure.request import MeasureRequest

_EXAMPLE: Final = "example: lsmlab measure /var/lib/mystore --out machine.yaml, then lsmlab run machine=machine.yaml"


def measure_verb(argv: list[str]) -> int:
    """Measure the machine. Returns 0, or 130 after an interrupt, which leaves no files."""
    request = read(parser_of("measure", MeasureRequest, epilog=_EXAMPLE).parse_args(argv), MeasureRequest)
    plan = plan_of(request)
    if request.dry_run:
        sys.stdout.write(plan.text())
        return 0
    try:
        found = measure(plan, _progress(plan))
    except KeyboardInterrupt:
        sys.stderr.write(f"\nInterrupted. Nothing is left in {request.place}, and {request.out} was not written.\n")
        return INTERRUPTED
    sys.stdout.write(to_json(_document(found, plan)) if request.json else _text(found, plan))
    return 0


def _progress(plan: Plan) -> Callable[[str, float], None]:
    """Return a function that prints each step with the remaining time: one line that changes, or lines without a terminal."""
    terminal = sys.stderr.isatty()
    began, ahead = time.monotonic(), plan.seconds

    def show(name: str, seconds: float) -> None:
        nonlocal ahead
        left = max(ahead, 0.0)
        line = f"{time.monotonic() - began:4.0f} s, about {left:3.0f} s left  {name}"
        sys.stderr.write(f"\r\x1b[K{line}" if terminal else f"{line}\n")
        sys.stderr.flush()
        ahead -= seconds

    return show


def _text(found: MeasuredMachine, plan: Plan) -> str:
    out = plan.request.out
    end = "\r\x1b[K" if sys.stderr.isatty() else ""
    sys.stderr.write(end)
    solution = found.calibration.solution
    errors, held = solution.relative_errors, set(solution.undetermined())
    lines = [f"{found.disk} ({plan.request.place}) and {plan.cores} cores, measured in {found.seconds:.0f} s", ""]
    for key, value in found.device.items():
        error = found.drive.errors[key] / value if key in found.drive.errors else errors.get(f"device.{key}")
        alone = key in found.drive.constants
        lines.append(_line(f"device.{key}", value, error, held=f"device.{key}" in held and not alone))
    for key, value in found.calibration.fitted("host").items():
        lines.append(_line(f"host.{key}", value, errors[f"host.{key}"], held=f"host.{key}" in held))
    lines += ["", *(f"  {key}: {value:,.0f}" for key, value in found.drive.limits.items())]
    lines += [f"- {sentence}." for sentence in found.drive.notes]
    lines += [f"- Not determined: {sentence}" for sentence in found.unknown]
    lines += [f"- Doubtful: {sentence}." for sentence in found.doubts]
    return "\n".join([*lines, "", nearest_text(nearest(found.device)) + f"\nSaved in {out}: use it with machine={out}"]) + "\n"


def _line(key: str, value: float, error: float | None, *, held: bool) -> str:
    known = "not determined" if held else f"± {100 * error:.0f} %" if error else "error unknown"
    return f"  {key:<32}{quantity_text(key, value):>12}  {known}"


def _document(found: MeasuredMachine, plan: Plan) -> dict[str, Any]:
    errors = found.calibration.solution.relative_errors
    close = nearest(found.device)
    return {
        "saved": str(plan.request.out), "seconds": found.seconds, "disk": found.disk, "device_entry": plan.disk.device_class,
        "cores": plan.cores, "device": found.device, "host": found.calibration.fitted("host"), "limits": dict(found.drive.limits),
        "relative_errors": dict(errors), "busy": dict(found.busy), "doubts": list(found.doubts),
        "notes": list(found.drive.notes),
        "requests": {
            name: {"bytes_per_s": t.bytes_per_s, "per_s": t.per_s, "mean_s": t.mean_s, "median_s": t.median_s, "cpu_s": t.cpu_s,
                   "requests": t.requests}
            for name, t in found.times.items()
        },
         "unknown": list(found.unknown), "nearest": close.entry if close else None,
    }  # fmt: skip
