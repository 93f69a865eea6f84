"""Advice: what would help, by how much, and everything that was tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lsmlab.models.units import format_bytes
from lsmlab.reports import numbers
from lsmlab.reports.answers.stopped import bottleneck_parts
from lsmlab.reports.answers.what_helps import KINDS, effect, leaves, price
from lsmlab.reports.conclusion import (
    Conclusion,
    begun,
    bottleneck_sentence,
    open_loop_sentences,
    states_sentence,
    sure_of_differences,
)
from lsmlab.reports.differences import (
    change_text,
    change_with_interval,
    differences_table,
    ends_text,
    interval_text,
    options_lines,
    options_section,
    wanted,
)
from lsmlab.reports.figures.changes import change_figure
from lsmlab.reports.page import Page
from lsmlab.reports.parts import WIDTH, Part, Section, Table, heading, wrapped
from lsmlab.reports.study_kind import StudyKind
from lsmlab.sim.results.comparison_text import in_columns
from lsmlab.sim.studies.advise import SHORT, Advice, AdviceRequest, Tried, advise, cost
from lsmlab.sim.studies.lengths import StoreState
from lsmlab.sim.studies.metrics import BY_NAME, Metric
from lsmlab.sim.studies.whatif import PRESENT

_BESIDE: Final = (
    "ops_per_s", "open_loop_latency_s.p999", "write_latency_s.p999", "stall_fraction", "write_amplification",
)  # fmt: skip
"""Metrics in the table besides the goal; where clients wait for the store, the open-loop latency judges it, not their own."""
_TITLES: Final = {
    "options": "What would help: options",
    "compression": "What compression would bring, if the data compress by half",
    "migration": "What options that reorganize all files would bring",
    "machine": "What other hardware would bring",
    "policies": "What other policies would bring",
    "application": "What a change of the application would bring",
}


def advice_page(advice: Advice, _folder: Path) -> Page:
    """Return the page of an advice."""
    goal = BY_NAME[advice.metric]
    rows = [(e.name, d) for e in advice.best if (d := e.of(goal.name)) is not None]
    parts: list[Part] = [
        *([change_figure(goal, rows)] if rows else []), *_best(advice),
        *options_section("First advice as an OPTIONS file", advice.options), _tried(advice),
    ]  # fmt: skip
    seeds = numbers.plural(len(advice.seeds), "seed")
    subtitle = f"Goal: {wanted(goal)}; {advice.limits}; {seeds}, 90 % intervals"
    footer = f"lsmlab advise {advice.store}, seeds {', '.join(map(str, advice.seeds))}"
    return Page(f"What would help: {Path(advice.store).name}", subtitle, parts, footer)


def conclude(advice: Advice) -> Conclusion:
    """Return the conclusion: the cheapest change that certainly helps, then the best of each other kind."""
    goal, first = BY_NAME[advice.metric], _first(advice)
    states = {PRESENT: advice.present.state} | ({first.name: first.state} if first is not None else {})
    tried = len(advice.tried) + len(advice.refused)
    answer = f"None of the {tried} changes tried certainly gives {wanted(goal)} within the limits."
    if first is not None and (found := first.of(goal.name)) is not None:
        values = f"{goal.form(found.present)} now, {goal.form(found.alternative)} with it"
        answer = f"{first.name}: {goal.label} {change_with_interval(found)}, {values}; {first.effort}."
    present = advice.present.state
    return Conclusion(
        begun(states.values(), answer), _others(advice, first),
        why=[
            *([f"{advice.store} {present.overload}, so throughput is the goal."] if present.overload else []),
            *([bottleneck_sentence("; ".join(bottleneck_parts(present.bottleneck)))] if present.bottleneck else []),
            *([f"Reason of {first.name}: {first.why}; seen: {first.condition}."] if first is not None else []),
        ],
        would_help=[*([f"With {first.name}: {leaves(first)}."] if first is not None else []), *_further(advice)],
        how_sure=[
            _lengths(advice, states), sure_of_differences(len(advice.seeds)), *_quickness(advice),
            *open_loop_sentences([goal.name]),
            "Not simulated: the change itself, such as a restart or the move of the data, and other programs on the machine.",
        ],
        command=advice.command,
    )  # fmt: skip


def advice_text(advice: Advice) -> str:
    """Return the ranked changes with their intervals, reasons and prices, those without effect, and the changed options."""
    goal = BY_NAME[advice.metric]
    value = goal.form(advice.present.values.get(goal.name, 0.0)) if goal.name in advice.present.values else "unknown"
    seeds = numbers.plural(len(advice.seeds), "seed")
    lines = [f"Advice for {advice.store}: {wanted(goal)} (now {value}); {seeds}, 90 % intervals"]
    lines += wrapped("limits          ", advice.limits)
    for kind, title in _TITLES.items():
        best = [entry for entry in advice.best if entry.kind == kind]
        if best:
            lines += ["", title, *_best_lines(best, goal), *_reasons(best, advice)]
    if any(not entry.certain for entry in advice.best):
        lines += ["", "? = no certain gain: the interval includes no change, or is unknown; more --replications may tell"]
    if not advice.best:
        lines += ["", "None of the changes helps within the limits."]
    helped = {entry.name for entry in advice.best}
    rest = [e for e in advice.tried if e.name not in helped and not e.is_pair]
    for title, names in (
        ("helps less      ", [_short_effect(e, goal) for e in rest if e.helps and e.certain]),
        ("no clear effect ", [_short_effect(e, goal) for e in rest if not ((e.helps and e.certain) or e.breaks or _worse(e))]),
        ("worse           ", [_short_effect(e, goal) for e in rest if _worse(e) and not e.breaks]),
        ("beyond a limit  ", [f"{e.name} ({e.breaks})" for e in rest if e.breaks]),
        ("not possible    ", [f"{name} ({reason})" for name, reason in advice.refused.items()]),
    ):
        if names:
            lines += ["", *wrapped(title, ", ".join(names))] if title.startswith("helps") else wrapped(title, ", ".join(names))
    return "\n".join([*lines, *options_lines("First advice as an OPTIONS file", advice.options)]) + "\n"


def _lengths(advice: Advice, main: Mapping[str, StoreState]) -> str:
    """Return whether the numbers are those of the long run: of the main answer, and of all changes that the answer names."""
    doubtful = any(state.unsettled is not None for state in main.values())
    return states_sentence(main if doubtful else {**main, **{entry.name: entry.state for entry in advice.best}})


def _first(advice: Advice) -> Tried | None:
    """Return the best change of the cheapest kind that certainly helps."""
    return next((entry for entry in advice.best if entry.certain), None)


def _others(advice: Advice, first: Tried | None) -> list[str]:
    """Return a sentence for the best change of each other kind of which some were tried."""
    sentences, tried = [], {entry.kind for entry in (*advice.tried, *advice.best)}
    for kind, title in KINDS.items():
        entry = next((e for e in advice.best if e.kind == kind and e is not first), None)
        if entry is not None and (first is None or kind != first.kind):
            sentences.append(f"{title}: {entry.name}, {effect(entry, advice.metric)}; {entry.effort}.")
        elif entry is None and kind in tried and (first is None or kind != first.kind):
            sentences.append(f"{title}: none of those tried helps within the limits.")
    return sentences


def _further(advice: Advice) -> list[str]:
    """Return what may give a better answer: more memory, other values, a longer search."""
    refused = sum("memtables and block cache of" in reason for reason in advice.refused.values())
    more = [f"A higher limit (`--memory`) would allow {numbers.plural(refused, 'more change')}."] if refused else []
    return [*more, "`lsmlab tune` searches between the values that were tried here."]


def _quickness(advice: Advice) -> list[str]:
    """Return what a quick advice left out."""
    if not advice.quick:
        return []
    count = len(advice.tried) + len(advice.refused)
    tried = f"{count} of {count + advice.left_out} changes"
    seeds = numbers.plural(advice.screened, "seed")
    return [f"Quick: {tried} with {seeds} each, no pairs; the same command without `--quick` refines the answer."]


def _best(advice: Advice) -> list[Section]:
    parts: list[Part] = []
    for entry in advice.best:
        parts += [heading(entry.name), Table([], _facts(entry, advice), texts=[1]), differences_table(entry.differences)]
    return [Section("best", "The best changes in detail, the cheap ones first", parts)] if parts else []


def _facts(entry: Tried, advice: Advice) -> list[tuple[str, str]]:
    """Return condition, reason, effect and price of a change, and what it leaves."""
    return [
        ("seen", entry.condition), ("reason", entry.why), ("effect", effect(entry, advice.metric)),
        ("price", price(entry, advice.present)), ("leaves", leaves(entry)),
    ]  # fmt: skip


def _reasons(entries: Sequence[Tried], advice: Advice) -> list[str]:
    """Return the facts of changes as lines, except the effect, which their table has."""
    lines = []
    for number, entry in enumerate(entries, 1):
        facts = [(label, text) for label, text in _facts(entry, advice) if label != "effect"]
        for place, (label, text) in enumerate(facts):
            lines += wrapped(f"  {f'{number}.' if place == 0 else '':<3}{label:<7}", text)
    return lines


def _tried(advice: Advice) -> Section:
    goal = BY_NAME[advice.metric]
    rows = [_tried_row(entry, goal.name) for entry in advice.tried]
    rows += [(name, "-", "", reason) for name, reason in advice.refused.items()]
    table = Table(["change", "effect", "90 % interval", ""], rows, texts=[3])
    doubts = [entry.state for entry in advice.tried]
    caption = begun([advice.present.state, *doubts], f"Change of {goal.label} with {numbers.plural(advice.screened, 'seed')}.")
    return Section("tried", "Everything that was tried", [table], caption)


def _tried_row(entry: Tried, goal: str) -> tuple[str, str, str, str]:
    found = entry.of(goal)
    about = f"breaks the limit on {entry.breaks}" if entry.breaks else entry.why
    if found is None or found.tie:
        return entry.name, "-" if found is None else "none", "", about
    return entry.name, change_text(found), ends_text(found), about


def _short_effect(entry: Tried, goal: Metric) -> str:
    """Return a change with its effect in short."""
    found = entry.of(goal.name)
    return entry.name if found is None else f"{entry.name} {'none' if found.tie else change_with_interval(found)}"


def _worse(entry: Tried) -> bool:
    """Return whether a change certainly makes the goal worse."""
    return bool(entry.gain < 0.0 and entry.certain)


def _best_lines(entries: Sequence[Tried], goal: Metric) -> list[str]:
    known = {d.metric for entry in entries for d in entry.differences}
    replaced = {name.replace("open_loop", "write") for name in known if name.startswith("open_loop")}
    beside = [name for name in _BESIDE if name != goal.name and name in known - replaced]
    rows = [["", goal.label, "", *(BY_NAME[name].label for name in beside), "memory"]]
    names = [f"{number}. {entry.name}{'' if entry.certain else ' ?'}" for number, entry in enumerate(entries, 1)]
    for name, entry in zip(names, entries, strict=True):
        found = {d.metric: d for d in entry.differences}
        changes = [change_text(found[metric]) if metric in found else "-" for metric in (goal.name, *beside)]
        between = interval_text(found[goal.name]) if goal.name in found else ""
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
