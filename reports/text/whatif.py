"""Answer to a what-if as text for the terminal."""

from __future__ import annotations

from typing import Final

from lsmlab.reports.text.words import change_text, interval_text, wrapped
from lsmlab.sim.results.comparison_text import in_columns
from lsmlab.sim.studies.differences import Difference, Reproduction, ReproductionCheck
from lsmlab.sim.studies.metrics import BY_NAME
from lsmlab.sim.studies.whatif import ComparedAlternative, WhatIfAnswer

_MAIN: Final = ("ops_per_s", "write_latency_s.p99", "stall_fraction", "write_amplification", "device.write_bytes_per_s")


def answer_text(answer: WhatIfAnswer) -> str:
    """Return the present state, its check against the LOG, and the differences of each alternative."""
    seeds = len(answer.seeds)
    lines = [f"What if: {answer.store} ({seeds} seed{'s' if seeds > 1 else ''} each, 90 % intervals)", ""]
    values = answer.present.values
    shown = [f"{BY_NAME[n].label} {BY_NAME[n].form(values[n])}" for n in _MAIN if n in values]
    lines += wrapped("present state   ", "; ".join(shown))
    if answer.reproduction:
        lines += _reproduction(answer.reproduction)
    for alternative in answer.alternatives:
        lines += ["", *_alternative(alternative)]
    return "\n".join(lines) + "\n"


def _reproduction(found: Reproduction) -> list[str]:
    texts = []
    for check in found.checks:
        metric = BY_NAME[check.metric]
        error = check_error(check)
        texts.append(f"{metric.label} {metric.form(check.recorded)} (simulated {error})")
    lines = wrapped("in the LOG      ", "; ".join(texts))
    return lines + (wrapped("warning: ", found.warning) if found.warning else [])


def check_error(check: ReproductionCheck) -> str:
    """Return the error of a simulated number against the LOG."""
    if check.error is None:
        return "unknown"
    return f"{100 * check.error:+.1f} points" if BY_NAME[check.metric].share else f"{check.error:+.1%}"


def _alternative(found: ComparedAlternative) -> list[str]:
    lines = [found.name, *(line for text in found.changes for line in wrapped("  ", text))]
    if found.kept:
        lines += wrapped("  ", f"({'; '.join(found.kept)})")
    rows = [_row(d) for d in found.differences if d.certain]
    lines += [f"  {line}" for line in in_columns(rows, left=range(4))]
    unclear = [f"{BY_NAME[d.metric].label} {_row(d)[2]}" for d in found.differences if not (d.certain or d.tie)]
    ties = [BY_NAME[d.metric].label for d in found.differences if d.tie]
    if unclear:
        lines += wrapped("  within the error: ", ", ".join(unclear))
    if ties and (rows or unclear):
        lines += wrapped("  exactly the same with every seed: ", ", ".join(ties))
    elif ties:
        lines.append("  exactly the same results as the present state with every seed")
    return lines


def _row(found: Difference) -> tuple[str, str, str, str]:
    metric = BY_NAME[found.metric]
    values = f"{metric.form(found.present)} -> {metric.form(found.alternative)}"
    between = f"({interval_text(found)})" if found.low is not None else ""
    return metric.label, values, change_text(found), between
