"""Advice as text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lsmlab.models.units import format_bytes
from lsmlab.reports.text.words import WIDTH, change_text, interval_text, wrapped
from lsmlab.sim.studies.advise import Advice, Tried
from lsmlab.sim.studies.differences import Difference
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


def advice_text(advice: Advice) -> str:
    """Return the ranked changes with their intervals, those without effect, and the changed options."""
    goal = GOALS[advice.goal]
    better = "higher" if goal.higher_is_better else "lower"
    value = goal.form(advice.present.values.get(goal.name, 0.0))
    seeds = len(advice.seeds)
    lines = [f"Advice for {advice.store}: {better} {goal.label} (now {value}); {seeds} seeds, 90 % intervals"]
    if advice.bottleneck:
        lines += wrapped("bottleneck      ", advice.bottleneck)
    lines += wrapped("limits          ", advice.limits)
    for kind, title in _TITLES.items():
        best = [entry for entry in advice.best if entry.kind == kind]
        if best:
            lines += ["", title, *_table(best, goal.name)]
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
    if advice.options:
        lines += ["", f"First advice as an OPTIONS file: {advice.options.file}"]
        lines += [f"  {name}: {before} -> {after}" for name, before, after in advice.options.changes]
        lines += [f"  set in code: {name}: {place}" for name, place in advice.options.in_code.items()]
    return "\n".join(lines) + "\n"


def _worse(entry: Tried) -> bool:
    """Return whether a change certainly makes the goal worse."""
    return bool(entry.gain < 0.0 and entry.certain)


def _table(entries: Sequence[Tried], goal: str) -> list[str]:
    beside = [name for name in _BESIDE if name != goal]
    rows = [["", _LABELS[goal], "", *(_LABELS[name] for name in beside), "memory"]]
    for number, entry in enumerate(entries, 1):
        found = {d.metric: d for d in entry.differences}
        changes = [change_text(found[name]) if name in found else "-" for name in (goal, *beside)]
        memory = format_bytes(entry.memory_bytes)
        mark = "" if entry.certain else " ?"
        rows.append([f"{number}. {entry.name}{mark}", changes[0], _between(found.get(goal)), *changes[1:], memory])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    if sum(widths) + 2 * len(widths) > WIDTH:  # the names get lines of their own
        widths[0] = 4
        rows = [rows[0], *([row[0]] if part else ["", *row[1:]] for row in rows[1:] for part in (1, 0))]
    lines = []
    for row in rows:
        cells = [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=False))]
        lines.append("  ".join(cells).rstrip())
    return lines


def _between(found: Difference | None) -> str:
    if found is None or found.low is None:
        return ""
    return f"({interval_text(found)})"
