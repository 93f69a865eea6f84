"""Advice: what would help, by how much, and everything that was tried."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lsmlab.models.units import format_bytes
from lsmlab.reports.answers.stopped import bottleneck_parts
from lsmlab.reports.answers.what_helps import KINDS
from lsmlab.reports.conclusion import Conclusion
from lsmlab.reports.differences import (
    change_text,
    change_with_interval,
    differences_table,
    interval_text,
    options_lines,
    options_section,
    wanted,
)
from lsmlab.reports.figures.changes import change_figure
from lsmlab.reports.page import Page
from lsmlab.reports.parts import WIDTH, Part, Section, Table, heading, paragraph, wrapped
from lsmlab.reports.study_kind import StudyKind
from lsmlab.sim.results.comparison_text import in_columns
from lsmlab.sim.studies.advise import SHORT, Advice, AdviceRequest, Tried, advise, cost
from lsmlab.sim.studies.goals import GOALS

_BESIDE: Final = ("ops_per_s", "write_latency_s.p999", "stall_fraction", "write_amplification")
"""Metrics in the table besides the goal."""
_LABELS: Final = {m.name: m.label for m in GOALS.values()}
_TITLES: Final = {
    "options": "What would help: options",
    "compression": "What compression would bring, if the data compress by half",
    "machine": "What other hardware would bring",
    "policies": "What other policies would bring",
}


def advice_page(advice: Advice, _folder: Path) -> Page:
    """Return the page of an advice."""
    goal = GOALS[advice.goal]
    rows = [(e.name, d) for e in advice.best for d in e.differences if d.metric == goal.name]
    parts: list[Part] = [
        *([change_figure(goal, rows)] if rows else []),
        *options_section("First advice as an OPTIONS file", advice.options), *_best(advice), _tried(advice),
    ]  # fmt: skip
    subtitle = f"Goal: {wanted(goal)}; {advice.limits}; {len(advice.seeds)} seeds, 90 % intervals"
    footer = f"lsmlab advise {advice.store}, seeds {', '.join(map(str, advice.seeds))}"
    return Page(f"What would help: {Path(advice.store).name}", subtitle, parts, footer)


def conclude(advice: Advice) -> Conclusion:
    """Return the conclusion."""
    first, *more = _story(advice)
    return Conclusion(first, more, command=f"lsmlab advise {advice.store}")


def advice_text(advice: Advice) -> str:
    """Return the ranked changes with their intervals, those without effect, and the changed options."""
    goal = GOALS[advice.goal]
    value = goal.form(advice.present.values.get(goal.name, 0.0))
    lines = [f"Advice for {advice.store}: {wanted(goal)} (now {value}); {len(advice.seeds)} seeds, 90 % intervals"]
    if advice.bottleneck:
        lines += wrapped("bottleneck      ", advice.bottleneck)
    lines += wrapped("limits          ", advice.limits)
    for kind, title in _TITLES.items():
        best = [entry for entry in advice.best if entry.kind == kind]
        if best:
            lines += ["", title, *_best_lines(best, goal.name)]
    if any(not entry.certain for entry in advice.best):
        lines += ["", "? = the interval includes no change: more --replications may tell"]
    if not advice.best:
        lines += ["", "None of the changes helps within the limits."]
    helped = {entry.name for entry in advice.best}
    rest = [e for e in advice.tried if e.name not in helped and " + " not in e.name]
    for title, names in (
        ("helps less      ", [e.name for e in rest if e.helps]),
        ("no clear effect ", [e.name for e in rest if not e.helps and not e.breaks and not _worse(e)]),
        ("worse           ", [e.name for e in rest if _worse(e) and not e.breaks]),
        ("beyond a limit  ", [f"{e.name} ({e.breaks})" for e in rest if e.breaks]),
        ("not possible    ", [f"{name} ({reason})" for name, reason in advice.refused.items()]),
    ):
        if names:
            lines += ["", *wrapped(title, ", ".join(names))] if title.startswith("helps") else wrapped(title, ", ".join(names))
    return "\n".join([*lines, *options_lines("First advice as an OPTIONS file", advice.options)]) + "\n"


def _story(advice: Advice) -> list[str]:
    goal = GOALS[advice.goal]
    value = advice.present.values.get(goal.name)
    sentences = [f"Now, {goal.label} is {goal.form(value)}."] if value is not None else []
    if advice.bottleneck:
        sentences.append(f"{'; '.join(bottleneck_parts(advice.bottleneck))}.")
    for kind, title in KINDS.items():
        entry = next((e for e in advice.best if e.kind == kind), None)
        if entry is None:
            sentences.append(f"{title}: none of those tried helps within the limits.")
            continue
        found = next(d for d in entry.differences if d.metric == goal.name)
        sure = "" if found.certain else ", within the error"
        sentences.append(f"{title}: {entry.name} changes {goal.label} by {change_with_interval(found)}{sure}.")
    return sentences


def _best(advice: Advice) -> list[Section]:
    parts: list[Part] = []
    for entry in advice.best:
        about = f"{entry.why}; memtables and block cache: {format_bytes(entry.memory_bytes)}"
        parts += [heading(entry.name), paragraph(about, "caption"), differences_table(entry.differences)]
    return [Section("best", "The best changes in detail", parts)] if parts else []


def _tried(advice: Advice) -> Section:
    goal = GOALS[advice.goal]
    rows = [_tried_row(entry, goal.name) for entry in advice.tried]
    rows += [(name, "-", reason) for name, reason in advice.refused.items()]
    table = Table(["change", "effect", ""], rows, texts=[2])
    return Section("tried", "Everything that was tried", [table], f"Change of {goal.label} with two seeds.")


def _tried_row(entry: Tried, goal: str) -> tuple[str, str, str]:
    found = entry.of(goal)
    effect = "-" if found is None else "none" if found.tie else change_text(found)
    return entry.name, effect, f"breaks the limit on {entry.breaks}" if entry.breaks else entry.why


def _worse(entry: Tried) -> bool:
    """Return whether a change certainly makes the goal worse."""
    return bool(entry.gain < 0.0 and entry.certain)


def _best_lines(entries: Sequence[Tried], goal: str) -> list[str]:
    beside = [name for name in _BESIDE if name != goal]
    rows = [["", _LABELS[goal], "", *(_LABELS[name] for name in beside), "memory"]]
    names = [f"{number}. {entry.name}{'' if entry.certain else ' ?'}" for number, entry in enumerate(entries, 1)]
    for name, entry in zip(names, entries, strict=True):
        found = {d.metric: d for d in entry.differences}
        changes = [change_text(found[metric]) if metric in found else "-" for metric in (goal, *beside)]
        between = interval_text(found[goal]) if goal in found else ""
        rows.append([name, changes[0], between, *changes[1:], format_bytes(entry.memory_bytes)])
    lines = in_columns(rows)
    if max(map(len, lines)) <= WIDTH - 2:
        return lines
    head, *numbers = in_columns([["    ", *row[1:]] for row in rows])
    return [head, *(line for both in zip(names, numbers, strict=True) for line in both)]  # names get lines of their own


def _runs(advice: Advice, _folder: Path) -> list[Path]:
    """Return the folder of the run, whose page shows the best changes."""
    store = Path(advice.store)
    return [store] if (store / SHORT).is_file() else []


ADVISE = StudyKind(
    "advise", "advice.json", AdviceRequest, advise, cost, conclude, advice_text, advice_page,
    "a shorter load (--set workload.duration=...)", "lsmlab advise mystore --goal p999 --memory 2GiB --at-most space_amp=1.5",
    runs=_runs,
)  # fmt: skip
