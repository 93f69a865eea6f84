"""Errors by group of cases: one row per group, such as one device under one cap, one column per metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from lsmlab.validation.markdown import table
from lsmlab.validation.scorecard.card import SET_TITLES, Scorecard
from lsmlab.validation.scorecard.metrics import error_text
from lsmlab.validation.scorecard.runs import CaseRun
from lsmlab.validation.scorecard.score import ScoreRow, Total, totals

_METRICS: Final = {
    "throughput": "ops_per_s", "W-Amp": "write_amplification", "stall fraction": "stall_fraction",
    "level pairs": "pairs.*.bytes", "compactions": "compaction_count", "trivial moves": "trivial_move_count",
    "write P99": "write_latency_s.p99", "write P99.9": "write_latency_s.p999", "read P50": "read_latency_s.p50",
    "read P99": "read_latency_s.p99",
}  # fmt: skip
_ABOUT: Final = (
    "Each cell: median / P90 / worst of the absolute errors, bias, count of values. + means that the simulated value is "
    "above the real one. pt: percentage points; b: buckets of RocksDB's histogram."
)


def groups_text(card: Scorecard) -> str:
    """Return tables of errors by group, set by set, as Markdown; cases without a group count in the last row alone."""
    parts = [_ABOUT]
    for name in card.sets:
        runs = [run for run in card.runs if run.set == name and run.error is None]
        parts += [f"## {SET_TITLES[name][0].upper()}{SET_TITLES[name][1:]}", _table(card.of(name), runs)]
    parts += [f"- {name} failed: {reason}" for name, reason in card.failures]
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[ScoreRow], runs: Sequence[CaseRun]) -> str:
    group_of = {run.case.name: run.case.group for run in runs}
    shown = {title: name for title, name in _METRICS.items() if any(row.scored_by.name == name for row in rows)}
    lines = [_line(group, rows, shown, lambda row, g=group: group_of[row.case] == g)  # type: ignore[misc]
             for group in sorted(set(group_of.values()) - {""})]  # fmt: skip
    return table(("group", "cases", *shown), [*lines, _line("all", rows, shown, lambda _row: True)])


def _line(title: str, rows: Sequence[ScoreRow], shown: dict[str, str], belongs: Callable[[ScoreRow], bool]) -> list[str]:
    mine = [row for row in rows if belongs(row)]
    found = totals(mine)
    return [title, str(len({row.case for row in mine})), *(_cell(found.get(name)) for name in shown.values())]


def _cell(total: Total | None) -> str:
    if total is None:
        return ""
    kind = total.metric.kind
    sizes = [error_text(value, kind).rpartition(" ") for value in (total.median, total.p90, total.worst)]
    numbers = " / ".join(number for number, _, _ in sizes)
    return f"{numbers} {sizes[0][2]}, {error_text(total.bias, kind, signed=True)} ({total.values})"
