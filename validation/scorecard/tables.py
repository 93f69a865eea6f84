"""Tables of the scorecard as data: terminal, docs/validation.md and the page show the same rows and columns.

All tables are made of the document that `Scorecard.document` returns and `lsmlab validate --json` prints.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.results.comparison_text import in_columns
from lsmlab.sim.studies.intervals import Scale
from lsmlab.sim.yaml_text import read_yaml
from lsmlab.validation.markdown import table
from lsmlab.validation.scorecard.card import ENGINES, RERUNS, SCORED, SET_TITLES, WHAT_IFS, WIDER
from lsmlab.validation.scorecard.metrics import (
    COVERAGE,
    DIFFERENCE,
    DISTANCE,
    KINDS,
    METRICS,
    WRONG,
    error_text,
    metric_of,
)

Document = Mapping[str, Any]
TITLES: Final = {m.name: m.title for m in METRICS}
"""Title by name of a metric."""
MISSED: Final = "missed"
"""Last word of a cell that is emphasised."""
_ABOUT: Final = read_yaml(Path(__file__).with_name("sections.yaml"))
LEGEND: Final[str] = _ABOUT["legend"]
"""Explanation of the columns of errors."""
_ENGINE_GOALS: Final = {
    "ops_per_s": ("throughput", 0.10), "write_amplification": ("W-Amp", 0.08), "stall_fraction": ("stalled", 0.08),
    "slow_seconds": ("seconds below 1200 op/s", 0.08),
}  # fmt: skip
"""Name and largest accepted error of the numbers of recorded engines (issue 4): relative, or points for shares; an error up
to twice the noise is always accepted."""
_CASE_METRICS: Final = {
    "throughput": "ops_per_s", "W-Amp": "write_amplification", "stall fraction": "stall_fraction",
    "device bytes": "device_bytes_written", "P99": "write_latency_s.p99", "P99.9": "write_latency_s.p999", "KS": "throughput.ks",
}  # fmt: skip
_SHOWN_PAIRS: Final = 4
"""Number of pairs of cases that a table of trends names."""


@dataclass(frozen=True)
class ScoreTable:
    """Rows of cells below their titles."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: Collection[int] = (0,)
    """Columns of text; the others contain numbers."""
    long: Collection[int] = ()
    """Columns that are too long for a terminal."""

    def markdown(self) -> str:
        """Return the table as Markdown."""
        return table(self.head, [[_marked(cell, f"**{MISSED}**") for cell in row] for row in self.rows])

    def lines(self) -> list[str]:
        """Return the lines of the table for the terminal."""
        kept = [i for i in range(len(self.head)) if i not in self.long]
        rows = [[_marked(row[i], MISSED.upper()) for i in kept] for row in (self.head, *self.rows)]
        return [f"  {line}" for line in in_columns(rows, left=[kept.index(i) for i in self.texts if i in kept])]


def _marked(cell: str, word: str) -> str:
    return f"{cell.removesuffix(MISSED)}{word}" if cell.endswith(MISSED) else cell


@dataclass(frozen=True)
class Section:
    """Part of the scorecard."""

    place: str
    """Id on the page, and key in sections.yaml."""
    title: str
    tables: tuple[ScoreTable, ...]
    replayed: int = 0
    """Number of replayed recordings, for the explanation."""

    @property
    def about(self) -> str:
        """Explanation; empty if it has none."""
        text: str = LEGEND if self.place == "targets" else _ABOUT.get(self.place, "")
        return text.format(replayed=self.replayed)


def sections(document: Document) -> Iterator[Section]:
    """Yield the sections below the targets: sets, recorded engines, cases, trends, replays, theory; no empty ones."""
    for name in sets_of_cases(document):
        by_case = [case_table(rows_of_sets(document, name))] if name in (WIDER, RERUNS, WHAT_IFS) else []
        tables = (target_table(document["sets"][name]), *by_case)
        title = f"{SET_TITLES[name][0].upper()}{SET_TITLES[name][1:]}"
        yield Section(f"set-{name}", title, tables)
    cases = cases_section("Every case", rows_of_sets(document, *SCORED))
    for section in (_intervals(document), _engines(document), cases, _trends(document), _replays(document), _theory(document)):
        if section.tables[0].rows:
            yield section


def rows_of_sets(document: Document, *sets: str) -> list[Mapping[str, Any]]:
    """Return the numbers of the cases of some sets."""
    return [row for row in document["cases"] if row["set"] in sets]


def sets_of_cases(document: Document) -> dict[str, int]:
    """Return the number of scored cases by set."""
    sets = [name for name in document["sets"] if name in SET_TITLES]
    return {name: len({row["name"] for row in rows_of_sets(document, name)}) for name in sets}


# --- targets ----------------------------------------------------------------------------------------------------------


def target_table(totals: Mapping[str, Mapping[str, Any]], *, targeted: bool = False) -> ScoreTable:
    """Return the errors by metric, with targets. `targeted`: only metrics with a target for their median."""
    head = ("metric", "median", "target", "P90", "worst", "target", "bias", "noise", "within 2 x noise", "in 90 % interval",
            "half width", "values")  # fmt: skip
    return ScoreTable(head, [
        (
            TITLES.get(name, name), _median(of), _goal(_target(of), of["meets_target"]), error_in(of["p90"], of),
            error_in(of["worst"], of), _goal(_worst(of), of["meets_worst"]),
            "" if of["unit"] in (WRONG.name, DISTANCE.name) else error_in(of["bias"], of, signed=True),
            error_in(of["noise"], of), share_text(of["within_noise"]), share_text(of["coverage"]),
            error_in(of["half_width"], of), str(of["values"]),
        )
        for name, of in totals.items()
        if of["target"] is not None or not targeted
    ])  # fmt: skip


def error_in(value: float | None, total: Mapping[str, Any], *, signed: bool = False) -> str:
    """Format a value of a metric's total in the unit of the metric."""
    return error_text(value, KINDS[total["unit"]], signed=signed)


def _median(total: Mapping[str, Any]) -> str:
    return f"{100 * total['bias']:.0f} % wrong" if total["unit"] == WRONG.name else error_in(total["median"], total)


def _target(total: Mapping[str, Any]) -> str:
    if total["target"] is None:
        return ""
    return f"{total['target']:g} x repeats" if total["unit"] == DISTANCE.name else error_in(total["target"], total)


def _worst(total: Mapping[str, Any]) -> str:
    return "" if total["target_worst"] is None else error_in(total["target_worst"], total)


def _goal(text: str, met: bool | None) -> str:
    return "" if not text else f"{text}, {'unknown' if met is None else met_text(met)}"


def met_text(met: bool) -> str:
    """Return whether a target is met, in one word."""
    return "met" if met else MISSED


def share_text(value: float | None) -> str:
    """Return a share in per cent; empty for None."""
    return "" if value is None else f"{100 * value:.0f} %"


def coverage_text(document: Document) -> str:
    """Return a sentence on the share of real values inside their intervals, which ends with whether the target is met."""
    held = document["coverage"]
    if held is None:
        return ""
    low, high = COVERAGE
    inside = f"90 % intervals contain {share_text(held['share'])} of {held['values']} real values"
    return f"{inside}; target {share_text(low)} to {share_text(high)}: {met_text(low <= held['share'] <= high)}"


def largest_errors(miss: Mapping[str, Any]) -> str:
    """Return the cases with the largest errors of a missed target."""
    kind, cases = KINDS[miss["kind"]], []
    for case in miss["cases"]:
        own = "" if case["metric"] == miss["metric"] else f" {case['metric']}"
        cases.append(f"{case['name']}{own} ({error_text(case['error'], kind, signed=True)})")
    return ", ".join(cases) + (f" and {miss['more']} more" if miss["more"] else "")


def left_out(document: Document) -> list[str]:
    """Return what was not scored, with reasons."""
    return [*document["skipped"], *(f"{failed['name']} failed: {failed['reason']}" for failed in document["failed"])]


# --- cases ------------------------------------------------------------------------------------------------------------


def worst_first(rows: Sequence[Mapping[str, Any]]) -> list[tuple[float, Mapping[str, Any]]]:
    """Return for each case its largest error as a multiple of the target for the worst case, and the row; worst case first."""
    worst: dict[str, tuple[float, Mapping[str, Any]]] = {}
    for row in rows:
        metric = metric_of(row["metric"])
        if metric is not None and metric.worst and row["error"] is not None:
            excess = abs(row["error"]) / metric.worst
            if row["name"] not in worst or excess > worst[row["name"]][0]:
                worst[row["name"]] = (excess, row)
    return sorted(worst.values(), key=lambda found: -found[0])


def worst_table(rows: Sequence[Mapping[str, Any]], most: int) -> ScoreTable:
    """Return the worst error of each of the worst cases, and by how much it exceeds its target."""
    head = ("error / target", "case", "number", "error", "real", "simulated")
    return ScoreTable(head, [
        (f"{excess:.1f}", row["name"], row["metric"], _error(row), _value(row["real"]), _value(row["simulated"]))
        for excess, row in worst_first(rows)[:most]
    ], texts=(1, 2))  # fmt: skip


def _error(row: Mapping[str, Any]) -> str:
    metric = metric_of(row["metric"])
    return error_text(row["error"], KINDS["relative"] if metric is None else metric.kind, signed=True)


def _value(value: float | str | None) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def case_table(rows: Sequence[Mapping[str, Any]]) -> ScoreTable:
    """Return the signed errors of all cases; with the set if there are several."""
    by_case: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        by_case.setdefault((row["set"], row["name"]), {})[row["metric"]] = row
    shown = {title: name for title, name in _CASE_METRICS.items() if any(row["metric"] == name for row in rows)}
    several = len({set_name for set_name, _ in by_case}) > 1
    cells = [
        (
            case,
            *([set_name] if several else []),
            *(_error(mine[name]) if name in mine else "" for name in shown.values()),
        )
        for (set_name, case), mine in by_case.items()
    ]
    return ScoreTable(("case", *(["set"] if several else []), *shown), cells, texts=(0, 1) if several else (0,))


def cases_section(title: str, rows: Sequence[Mapping[str, Any]]) -> Section:
    """Return the section with the errors of cases."""
    return Section("cases", title, (case_table(rows),))


def _intervals(document: Document) -> Section:
    """Return the section with coverage and width of the intervals by kind."""
    rows = [
        (
            TITLES.get(of["metric"], of["metric"]), of["knowledge"], of["device"] or "all", share_text(of["inside"]),
            _width(of), str(of["values"]),
        )
        for of in document["intervals"]
    ]  # fmt: skip
    head = ("metric", "machine", "drive", "in 90 % interval", "half width", "values")
    return Section("intervals", "Intervals by kind", (ScoreTable(head, rows, texts=(0, 1, 2)),))


def _width(of: Mapping[str, Any]) -> str:
    """Return half the width of an interval: in per cent, in points, or as a factor for latencies."""
    half = of["half_width"]
    if of["scale"] == Scale.POINTS:
        return f"{100 * half:.1f} pt"
    return f"x{math.exp(half):.2f}" if of["scale"] == Scale.LATENCY else f"{100 * math.expm1(half):.1f} %"


def _engines(document: Document) -> Section:
    rows = []
    for row in rows_of_sets(document, ENGINES):
        if row["metric"] in _ENGINE_GOALS and isinstance(row["real"], float) and isinstance(row["simulated"], float):
            title, goal = _ENGINE_GOALS[row["metric"]]
            metric = metric_of(row["metric"])
            numbers = (
                _number(row[side], share=metric is not None and metric.kind is DIFFERENCE)
                for side in ("real", "simulated")
            )
            met = abs(row["error"]) <= max(goal, 2.0 * (row["noise"] or 0.0)) + 1e-12
            rows.append((row["name"], title, *numbers, _error(row), met_text(met)))
    head = ("run", "number", "real", "simulated", "error", "goal")
    return Section("engines", "Recorded engines, run by run", (ScoreTable(head, rows, texts=(0, 1, 5)),))


def _number(value: float, *, share: bool) -> str:
    return f"{100 * value:.1f} %" if share else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


# --- trends, replays, theory ------------------------------------------------------------------------------------------


def _trends(document: Document) -> Section:
    rows = [(name, str(of["right"]), str(of["total"]), _wrong(of["wrong"])) for name, of in document["trends"].items()]
    head = ("metric", "same direction", "pairs", "other direction")
    return Section("trends", "Effect of one changed key", (ScoreTable(head, rows, texts=(0, 3), long=(3,)),))


def _wrong(pairs: Sequence[Mapping[str, Any]]) -> str:
    shown = [
        f"{p['first']} to {p['second']} ({p['key']}: real {p['real']:+.0%}, simulated {p['simulated']:+.0%})"
        for p in pairs[:_SHOWN_PAIRS]
    ]
    return "; ".join([*shown, *([f"{len(pairs) - _SHOWN_PAIRS} more"] if len(pairs) > _SHOWN_PAIRS else [])])


def _replays(document: Document) -> Section:
    rows = [
        (name, f"{of['matched']:,}", f"{of['total']:,}", f"{100 * of['share']:.2f} %")
        for name, of in document["sets"].get("replay", {}).items()
        if of["total"]
    ]
    found = ScoreTable(("decision", "same as RocksDB", "decisions", "share"), rows)
    return Section("replay", "Exact replays", (found,), document["replayed"])


def _theory(document: Document) -> Section:
    rows = [
        (
            name, f"{of['expected']:.5g}", f"{of['found']:.5g}", f"{of['tolerance']:.1%}",
            "holds" if of["holds"] else MISSED, of["source"],
        )
        for name, of in document["sets"].get("theory", {}).items()
    ]  # fmt: skip
    head = ("check", "theory", "simulator", "tolerance", "", "source")
    return Section("theory", "Theory checks", (ScoreTable(head, rows, texts=(0, 4, 5), long=(5,)),))
