"""What-if: the present state against the LOG, and the differences of each alternative."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Final

from lsmlab.reports import numbers
from lsmlab.reports.charts import OPERATIONS
from lsmlab.reports.conclusion import Conclusion, bottleneck_sentence, over, states_sentence, sure_of_differences
from lsmlab.reports.differences import (
    ERROR_UNKNOWN,
    change_figures,
    change_text,
    differences_table,
    held_text,
    in_words,
    interval_text,
    values_text,
)
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.curves import overlaid
from lsmlab.reports.page import Page, page_link
from lsmlab.reports.parts import Html, Part, Section, Table, bullets, paragraph, wrapped
from lsmlab.reports.run_data import is_run, load_run
from lsmlab.reports.study_kind import StudyKind
from lsmlab.sim.results.comparison_text import in_columns
from lsmlab.sim.studies.differences import CLOSE, Reproduction, ReproductionCheck
from lsmlab.sim.studies.metrics import BY_NAME
from lsmlab.sim.studies.whatif import (
    PRESENT,
    ComparedAlternative,
    WhatIfAnswer,
    WhatIfRequest,
    cost,
    whatif,
)

_MAIN: Final = ("ops_per_s", "write_latency_s.p99", "stall_fraction", "write_amplification", "device.write_bytes_per_s")
_MOST_PAGES: Final = 8
"""Number of alternatives whose first run gets a page of its own."""


def whatif_page(answer: WhatIfAnswer, directory: Path) -> Page:
    """Return the page of an answer."""
    alternatives, seeds = answer.alternatives, answer.seeds
    parts: list[Part] = [
        *change_figures((a.name, a.differences) for a in alternatives), _details(answer, directory),
        *_reproduced(answer), *_overlay(answer, directory),
    ]  # fmt: skip
    count = numbers.plural(len(alternatives), "alternative")
    subtitle = f"{count} to the present state, {numbers.plural(len(seeds), 'seed')} each"
    return Page(f"What if: {Path(answer.store).name}", subtitle, parts, f"Seeds {', '.join(map(str, seeds))}")


def conclude(answer: WhatIfAnswer) -> Conclusion:
    """Return the conclusion: what each alternative changes, and why."""
    first, *others = [_change_sentence(one) for one in answer.alternatives] or ["No alternative was asked for."]
    states = {PRESENT: answer.present.state} | {one.name: one.state for one in answer.alternatives}
    return Conclusion(
        over(states.values()) + first, others,
        why=[f"{name}: {bottleneck_sentence(state.bottleneck)}" for name, state in states.items() if state.bottleneck],
        would_help=[f"`lsmlab advise {answer.store}` tries changes of options, machine and policies."],
        how_sure=[*_reproduction_sentences(answer), states_sentence(states), sure_of_differences(len(answer.seeds))],
        command=answer.command,
    )  # fmt: skip


def _change_sentence(one: ComparedAlternative) -> str:
    if one.state.overload:
        return f"{one.name} {one.state.overload}."
    same = all(d.tie for d in one.differences)
    return f"{one.name}: {'exactly the same results as the present state' if same else in_words(one.differences)}."


def _reproduction_sentences(answer: WhatIfAnswer) -> list[str]:
    found = answer.reproduction
    if found is None:
        return []
    if found.warning:
        return [f"Warning: {found.warning}."]
    wide = [
        f"{BY_NAME[check.metric].label} ({BY_NAME[check.metric].form(check.simulated)} instead of "
        f"{BY_NAME[check.metric].form(check.recorded)})"
        for check in found.checks if check.inside and not check.close
    ]  # fmt: skip
    but = f", of which some are wide: {', '.join(wide)}" if wide else ""
    return [f"The simulated present state reproduces the LOG within its intervals{but}."]


def answer_text(answer: WhatIfAnswer) -> str:
    """Return the present state, its check against the LOG, and the differences of each alternative."""
    values = answer.present.values
    shown = [f"{BY_NAME[n].label} {BY_NAME[n].form(values[n])}" for n in _MAIN if n in values]
    lines = wrapped("present state   ", "; ".join(shown))
    if answer.reproduction:
        lines += _reproduction_lines(answer.reproduction)
    for alternative in answer.alternatives:
        lines += ["", *_alternative_lines(alternative)]
    return "\n".join(lines) + "\n"


def _details(answer: WhatIfAnswer, directory: Path) -> Section:
    parts: list[Part] = []
    if (first := page_link(directory / answer.present.folder, "Page of the present state", directory)) is not None:
        parts.append(Html(f'<p class="caption">{first}</p>'))
    for alternative in answer.alternatives:
        link = page_link(directory / alternative.folder, "page of its first run", directory)
        parts += [
            Html(f"<h3>{html.escape(alternative.name)}{f' {link}' if link else ''}</h3>"), bullets(alternative.changes),
            *([paragraph(f"{'; '.join(alternative.kept)}.", "caption")] if alternative.kept else []),
            differences_table(alternative.differences),
        ]  # fmt: skip
    return Section("alternatives", "Alternatives", parts)


def _reproduced(answer: WhatIfAnswer) -> list[Section]:
    found = answer.reproduction
    if not found:
        return []
    rows = []
    for check in found.checks:
        metric = BY_NAME[check.metric]
        inside = {True: "inside", False: "outside", None: "unknown"}[check.inside] if check.error_known else _without_error(check)
        rows.append((metric.label, metric.form(check.recorded), metric.form(check.simulated), _error(check), inside))
    table = Table(["", "in the LOG", "simulated", "error", "90 % interval"], rows)
    caption = "The present state is simulated from the LOG alone; its numbers should be those of the LOG."
    return [Section("reproduction", "Is the present state reproduced?", [table], caption)]


def _reproduction_lines(found: Reproduction) -> list[str]:
    texts = [
        f"{BY_NAME[check.metric].label} {BY_NAME[check.metric].form(check.recorded)} (simulated {_error(check)})"
        for check in found.checks
    ]
    return wrapped("in the LOG      ", "; ".join(texts))


def _without_error(check: ReproductionCheck) -> str:
    """Return whether a number without a known error of the model is close to that of the LOG."""
    return f"{'at most' if check.inside else 'more than'} {CLOSE:.0%} off; {ERROR_UNKNOWN}"


def _error(check: ReproductionCheck) -> str:
    """Return the error of a simulated number against the LOG."""
    if check.error is None:
        return "unknown"
    return f"{100 * check.error:+.1f} points" if BY_NAME[check.metric].share else f"{check.error:+.1%}"


def _alternative_lines(found: ComparedAlternative) -> list[str]:
    lines = [found.name, *(line for text in found.changes for line in wrapped("  ", text))]
    if found.kept:
        lines += wrapped("  ", f"({'; '.join(found.kept)})")
    certain = [d for d in found.differences if d.certain or not d.error_known]
    rows = [(BY_NAME[d.metric].label, values_text(d), change_text(d), interval_text(d), held_text(d)) for d in certain]
    lines += [f"  {line.rstrip()}" for line in in_columns(rows, left=range(5))]
    unclear = [
        f"{BY_NAME[d.metric].label} {change_text(d)}{f' ({warning})' if (warning := held_text(d)) else ''}"
        for d in found.differences if d.error_known and not (d.certain or d.tie)
    ]  # fmt: skip
    ties = [BY_NAME[d.metric].label for d in found.differences if d.tie]
    if unclear:
        lines += wrapped("  within the error: ", ", ".join(unclear))
    if ties and (rows or unclear):
        lines += wrapped("  exactly the same with every seed: ", ", ".join(ties))
    elif ties:
        lines.append("  exactly the same results as the present state with every seed")
    return lines


def _overlay(answer: WhatIfAnswer, directory: Path) -> list[Figure]:
    """Return the throughput of the LOG and of the present state in one figure; nothing without both tables."""
    places = [Path(answer.store), directory / answer.present.folder]
    if not answer.reproduction or not all(map(is_run, places)):
        return []
    return [overlaid(OPERATIONS, [load_run(place) for place in places], ["LOG", "simulated present state"])]


def _runs(answer: WhatIfAnswer, directory: Path) -> list[Path]:
    """Return the folders of the present state and of the first alternatives."""
    folders = [answer.present.folder, *(a.folder for a in answer.alternatives)]
    return [directory / folder for folder in folders[: _MOST_PAGES + 1]]


WHATIF = StudyKind(
    "whatif", "whatif.json", WhatIfRequest, whatif, cost, conclude, answer_text, whatif_page, "fewer or shorter runs",
    "lsmlab whatif mystore device=sata 'engine=vlsm workload.scale=2' host.cores=4,8", runs=_runs,
)  # fmt: skip
