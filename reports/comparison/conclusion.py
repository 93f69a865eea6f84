"""Conclusion of a comparison: the differences from the first run, why, what would help and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lsmlab.reports import numbers
from lsmlab.reports.answers.stopped import queued
from lsmlab.reports.answers.what_helps import first_tries
from lsmlab.reports.comparison.members import ShownRun
from lsmlab.reports.conclusion import Conclusion, bottleneck_sentence, over, states_sentence, sure_of_differences
from lsmlab.reports.differences import sum_up
from lsmlab.reports.drive_source import drive_sentence_of_run
from lsmlab.reports.run_data import RunData

_NOTHING: Final = (
    "Neither stalls nor a queue held the clients back; `lsmlab advise FOLDER` finds what saves writes, space or memory."
)
"""What is left to improve; FOLDER is that of a run, whose place on this machine is no part of the answer."""
_FEW: Final = 0.001
"""Stalled share of the time from which a run needs help."""
_MOST: Final = 3
"""Largest number of runs whose differences, reasons and changes the conclusion names."""


def conclude(shown: Sequence[ShownRun], command: str = "") -> Conclusion:
    """Return the conclusion of a comparison, whose first run is the reference."""
    first, named = shown[0], shown[: _MOST + 1]
    sentences = [f"{one.name} {one.state.overload}." for one in named if one.state.overload]
    sentences += [sum_up(one.name, first.name, one.differences) for one in named[1:] if not one.state.overload]
    states = {one.name: one.state for one in shown}
    stopped = [one for one in named if queued(one.run) or (one.run.number("stall_fraction") or 0.0) >= _FEW]
    head, *rest = sentences or ["One run, nothing to compare it with."]
    return Conclusion(
        over(states.values()) + head, rest,
        about=" ".join(filter(None, (simulated(first.run), drive_sentence_of_run(first.run)))),
        why=[f"{one.name}: {bottleneck_sentence(one.state.bottleneck)}" for one in named],
        would_help=[_tries(one) for one in stopped] or [_NOTHING],
        how_sure=["These are predictions of a model.", states_sentence(states), sure_of_differences(first.seeds)],
        command=command,
    )  # fmt: skip


def simulated(run: RunData) -> str:
    """Return what was simulated: store, load and time."""
    summary = run.summary
    release = f" {summary['engine_version']}" if summary.get("engine_version") else ""
    return f"Simulated: {summary.get('engine')}{release}, {summary.get('workload')}, {numbers.duration(run.duration_s)} each."


def _tries(one: ShownRun) -> str:
    """Return the change that the bottleneck suggests, or the command that finds changes."""
    found = first_tries(one.run)
    if not found:
        return f"{one.name}: `lsmlab advise FOLDER` finds changes that help."
    best = found[0]
    return (
        f"{one.name}: the bottleneck suggests {best.name} ({best.why}); not simulated yet: "
        "`lsmlab advise FOLDER` measures it and others."
    )
