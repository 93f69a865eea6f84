"""Preview of a configuration: a short window of the run, long enough for its curves and short enough for a slider."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import lsmlab
from lsmlab.models.errors import InputError
from lsmlab.reports import numbers
from lsmlab.reports.answers.stopped import bottleneck_parts, what_stopped
from lsmlab.reports.answers.what_helps import first_tries
from lsmlab.reports.charts import L0, THROUGHPUT, of_run
from lsmlab.reports.headline import headline
from lsmlab.reports.run_data import RunData
from lsmlab.reports.timeline import Timeline
from lsmlab.sim.runs.estimate import START, duration_text, estimate, expected, job_seconds
from lsmlab.sim.setting import Setting

TARGET_S: Final = 0.15
"""CPU time of the window that is aimed at."""
LONGEST_S: Final = 0.6
"""CPU time after which a window is given up for a shorter one."""
_SHORTEST_S: Final = 2.0
"""Shortest window, in simulated seconds."""
_TRIES: Final = 3
"""Windows that are tried."""
_START_S: Final = 0.02
"""CPU time of a run without jobs, in a process that has simulated before (measured)."""
_PACES: Final[dict[tuple[str, ...], float]] = {}
"""Measured by estimated time of the last window, by kind of configuration: the estimate may be wrong by a factor of 3."""
_FACTS: Final = (
    "ops_per_s", "write_latency_s.p99", "read_latency_s.p99", "stall_fraction", "lost_operations.share", "write_amplification",
)  # fmt: skip
"""Headline numbers of a run that the laboratory shows beside the curves."""


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves of a window from the start of a run, as plain data."""

    figures: list[dict[str, Any]]
    """What `Figure.as_json` gives: Plotly traces and layout."""
    facts: list[dict[str, str]]
    """Label, text and note of headline numbers."""
    answers: list[dict[str, str]]
    """Question, answer and reason: what stopped writers, the bottleneck, what would help."""
    window: str
    """Simulated time of the curves, in words."""
    end_s: float
    """Simulated time at which the curves end."""
    notes: list[str]
    whole: bool
    """Whether the window is the whole run."""


class _TooLongError(Exception):
    """A window that takes too long; `reached_s` is its simulated time so far."""

    def __init__(self, reached_s: float) -> None:
        super().__init__()
        self.reached_s = reached_s


def preview(config: Mapping[str, Any]) -> Curves:
    """Simulate a window and draw its curves. Raises InputError for a configuration that cannot run, or needs too long."""
    _warm_up()
    whole_s = expected(Setting.of(config)).duration_s
    cost = estimate(config)
    kind = _kind(config)
    for _ in range(_TRIES):
        estimated_s = max(1e-3, (cost.work - START) * job_seconds())
        window_s = _window_s(whole_s, whole_s * TARGET_S / (estimated_s * _PACES.get(kind, 1.0)))
        began_s = time.process_time()
        try:
            result: lsmlab.Result | None = _simulated(config, window_s if window_s < whole_s else None)
            reached_s = window_s
        except _TooLongError as late:
            result, reached_s = None, max(late.reached_s, 1e-3 * window_s)
        taken_s = max(1e-3, time.process_time() - began_s - _START_S)
        pace = taken_s / (estimated_s * reached_s / whole_s)
        _PACES[kind] = math.sqrt(pace * _PACES[kind]) if kind in _PACES and result is not None else pace
        if result is not None:
            return _drawn(result.data, whole_s)
    raise InputError(
        f"no quick preview: a window of a few seconds takes too long to simulate; the whole run takes about"
        f" {duration_text(cost.seconds())}: press Simulate"
    )


def _window_s(whole_s: float, affordable_s: float) -> float:
    """Return the length of a window: 1, 2 or 5 times a power of ten, so that successive previews have the same length.

    >>> [_window_s(600.0, affordable_s) for affordable_s in (0.3, 47.0, 599.0, 601.0)]
    [2.0, 20.0, 500.0, 600.0]
    """
    if affordable_s >= whole_s:
        return whole_s
    power = 10.0 ** math.floor(math.log10(max(affordable_s, _SHORTEST_S)))
    rounded = max(digit * power for digit in (1.0, 2.0, 5.0) if digit * power <= max(affordable_s, _SHORTEST_S))
    return min(whole_s, max(_SHORTEST_S, rounded))


def _kind(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the classes of the configuration, on which the error of the estimate depends."""
    groups = (config[name] for name in ("engine", "device", "workload"))
    return tuple(f"{group.get('_target_')} {group.get('name')}" for group in groups)


@cache
def _warm_up() -> None:
    """Import all that a run needs, before the first window is timed."""
    _ = lsmlab.run("workload.num=1k workload.duration=1s", progress=False).data


def _simulated(config: Mapping[str, Any], window_s: float | None) -> lsmlab.Result:
    deadline_s = time.process_time() + LONGEST_S
    if window_s is not None:
        config = {**config, "workload": {**config["workload"], "duration": window_s}}
    return lsmlab.run({**config, "save": {"events": False}}, progress=_within(deadline_s))


def _within(deadline_s: float) -> Callable[[float, float], None]:
    def progress(now_s: float, _end_s: float) -> None:
        if time.process_time() > deadline_s:
            raise _TooLongError(now_s)

    return progress


def _drawn(run: RunData, whole_s: float) -> Curves:
    timeline = Timeline.of(run.times_s)
    figures = [figure.as_json() for figure in of_run((THROUGHPUT, L0), run, timeline)]
    whole = run.duration_s >= 0.999 * whole_s or whole_s - run.duration_s < _SHORTEST_S
    notes = list(run.summary["notes"])
    return Curves(figures, _facts(run), answers(run), _window(run, whole_s, whole), run.duration_s, notes, whole)


def answers(run: RunData) -> list[dict[str, str]]:
    """Return question, answer and reason for a window: what stopped writers, the bottleneck, and what would help."""
    stopped, sentences = what_stopped(run)
    found = [("What stopped the store?", stopped, " ".join(sentences[:1]))]
    bottleneck = (run.summary.get("bottleneck") or {}).get("text") or ""
    if bottleneck and run.summary.get("episodes"):
        found.append(("Why?", *bottleneck_parts(bottleneck)))
    if tries := first_tries(run):
        texts = [f"{change.name} ({change.why})" for change in tries]
        others = f"Or {'; or '.join(texts[1:])}. " if texts[1:] else ""
        found.append(("What would help?", f"Try {texts[0]}", f"{others}Not simulated yet: set it to see."))
    elif not run.stall_seconds():
        found.append(("What would help?", "Nothing to mend in this window", ""))
    names = ("question", "answer", "reason")
    return [dict(zip(names, map(numbers.on_page, one), strict=True)) for one in found]


def _facts(run: RunData) -> list[dict[str, str]]:
    by_key = {fact.key: fact for fact in headline(run)}
    return [{"label": f.label, "text": f.text, "note": f.note} for f in map(by_key.get, _FACTS) if f is not None]


def _window(run: RunData, whole_s: float, whole: bool) -> str:
    if whole:
        return f"The whole run: {numbers.duration(run.duration_s)} simulated."
    return f"Preview: the first {numbers.duration(run.duration_s)} of about {numbers.duration(whole_s)}."
