"""How sure the numbers of a run are: seeds, the model's own error, warm-up, length, and what the run does not know."""

from __future__ import annotations

import math
from typing import Final

from lsmlab.reports import numbers
from lsmlab.reports.headline import endurance_years
from lsmlab.reports.run_data import RunData
from lsmlab.sim.explain.bottleneck import SATURATED
from lsmlab.sim.studies.metrics import read_model_errors

_NORMAL_90: Final = 1.645
"""Standard deviations on either side of the mean that hold 90 % of a normal distribution."""
_CLOSE: Final = 0.05
"""Difference of two uses of resources below which the run cannot tell which one is the bottleneck."""
_USES: Final = {
    "limiter": "the rate limiter", "write_cap": "the cap on written bytes", "read_cap": "the cap on read bytes",
    "iops_cap": "the cap on operations", "device": "the device", "cores": "the cores",
}  # fmt: skip


def confidence(run: RunData) -> tuple[str, list[str]]:
    """Return headline and sentences on how sure the answers are."""
    doubts = [text for text in (settled_sentence(run), tie_sentence(run)) if text]
    facts = [_seeds(run), _model(run), _sampling(run), _endurance(run)]
    headline = "A simulation with doubts" if doubts else "As sure as the model"
    return headline, [*doubts, *(text for text in facts if text)]


def settled_sentence(run: RunData) -> str:
    """Return a warning if the run does not show the store as it stays; else ""."""
    found = run.summary.get("settled") or {}
    if found.get("settled") is not False:
        return ""
    length = numbers.duration(run.duration_s)
    return f"Not settled: {found['reason']}. The numbers are those of these {length}; a longer run may differ."


def tie_sentence(run: RunData) -> str:
    """Return a sentence if two resources were in nearly the same full use; else ""."""
    found = run.summary.get("bottleneck") or {}
    if found.get("resource") in (None, "none", "unknown"):
        return ""
    uses = sorted(((use, name) for name, use in found.get("uses", {}).items() if name in _USES), reverse=True)
    if len(uses) < 2 or uses[1][0] < SATURATED or uses[0][0] - uses[1][0] > _CLOSE:
        return ""
    (first, a), (second, b) = uses[:2]
    return (
        f"A tie: {_USES[a]} ({numbers.percent(first)}) and {_USES[b]} ({numbers.percent(second)}) were both in full use during "
        "the stalls, so relieving one of them alone helps little."
    )


def _seeds(run: RunData) -> str:
    runs = run.number("replications")
    if runs and runs > 1:
        low, high = (run.number(f"interval.ops_per_s.{end}") for end in ("low", "high"))
        if low is not None and high is not None:
            between = f"{numbers.count(low)} and {numbers.per_second(high)}"
            return f"{runs:.0f} seeds; the mean throughput lies between {between} (90 % interval)."
    if "import" in run.summary:
        return ""
    return "One seed: the exact times of stalls are those of one possible run. `--replications 5` gives intervals."


def _model(run: RunData) -> str:
    if "import" in run.summary:
        return "These numbers were read from a LOG; lost operations are estimated."
    errors = read_model_errors(from_a_log=False)
    rate, w_amp, tail = (errors.get(name) for name in ("ops_per_s", "write_amplification", "write_latency_s.p999"))
    if rate is None or w_amp is None or tail is None:
        return ""
    return (
        f"The model's own error with constants fitted to the machine: ± {numbers.percent(_NORMAL_90 * rate)} of throughput, "
        f"± {numbers.percent(_NORMAL_90 * w_amp)} of write amplification, a factor of {math.exp(_NORMAL_90 * tail):.1f} in "
        "P99.9 (90 % of real runs). Constants of another machine add to it."
    )


def _sampling(run: RunData) -> str:
    error = run.number("keys.error")
    return f"Keys are sampled: overlaps of one file are {numbers.percent(error)} off (standard error)." if error else ""


def _endurance(run: RunData) -> str:
    device = run.summary.get("device")
    if not isinstance(device, dict) or "years_left" not in device or endurance_years(run) is not None:
        return ""
    return "The endurance of the device is unknown: its data sheet gives no rated bytes."
