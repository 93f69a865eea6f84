"""docs/validation.md: the scorecard as a document, written by `lsmlab validate --write-docs`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.validation.checkout import HOME
from lsmlab.validation.scorecard.baseline import digest, write_baseline
from lsmlab.validation.scorecard.card import (
    CALIBRATION,
    RERUNS,
    SCORED,
    SET_TITLES,
    WHAT_IFS,
    Scorecard,
    replay_shares,
)
from lsmlab.validation.scorecard.engines import engine_rows
from lsmlab.validation.scorecard.findings import missed, read_findings
from lsmlab.validation.scorecard.metrics import COVERAGE, DISTANCE, KINDS, WRONG, error_text
from lsmlab.validation.scorecard.score import Row, Total, coverage, totals
from lsmlab.validation.scorecard.trends import trend_shares

FILE: Final = HOME / "docs" / "validation.md"
_MARK: Final = "<!-- digest: "
_CASE_METRICS: Final = {
    "throughput": "ops_per_s", "W-Amp": "write_amplification", "stall fraction": "stall_fraction",
    "device bytes": "device_bytes_written", "P99": "write_latency_s.p99", "P99.9": "write_latency_s.p999", "KS": "throughput.ks",
}  # fmt: skip
_ABOUT_SETS: Final = {
    CALIBRATION: "They were seen by the fit: this is how well it fits, not how good the simulator is.",
    RERUNS: "`lsmlab import LOG`, then the same run with clients at full speed: options, load, device and processor come from "
    "that one LOG (of several repeats the first), only the number of cores and the kind of drive (`--device`) are told. Runs "
    "whose clients read or were limited are left out: a LOG does not tell that. The importer's rules were made while looking "
    "at these LOGs; no number was fitted to a case.",
    WHAT_IFS: "Device and processor from the LOG of one run (in brackets), options and load of another one on the same machine: "
    "what an engineer asks who has a LOG and wants to know what other options would do.",
}


def write_documents(card: Scorecard) -> None:
    """Write docs/validation.md and validation/scorecard/baseline.json."""
    FILE.write_text(document_text(card), encoding="utf-8")
    write_baseline(card)


def document_digest(path: Path = FILE) -> str | None:
    """The digest of what the document was made from; None if it does not say."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return text.partition(_MARK)[2].partition(" ")[0] or None


def document_text(card: Scorecard) -> str:
    """The whole document."""
    parts = [
        "# How good: LSMLab beside real RocksDB",
        f"{_MARK}{digest()} -->",
        "Written by `lsmlab validate --write-docs` (`make validate`); not to be edited. How errors and intervals are taken: "
        "[confidence](background/confidence.md); how to score runs of your own: [how-to](how-to/score-your-own-runs.md).",
        _sizes(card),
        "## Targets",
        _target_table(card.scored),
        _coverage(card.of(*SCORED)),
        "Errors are absolute values, simulated against real; bias keeps the sign. pt: percentage points; b: buckets of RocksDB's "
        "own histogram (each 1.5 times the one before); x: ratio. Noise is the range between repeats of the real run, median "
        "over the cases that know it; KS distances are compared with that between repeats.",
        *_missed(card),
        *_by_set(card),
        *_engines(card),
        *_cases(card),
        *_trends(card),
        *_replays(card),
        *_theory(card),
        *_left_out(card),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _sizes(card: Scorecard) -> str:
    counts = [f"{len({r.case for r in card.of(name)})} of {SET_TITLES[name]}" for name in card.sets]
    return f"Cases: {', '.join(counts) or 'none'}; {card.seeds} simulated runs of each."


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _target_table(found: Mapping[str, Total]) -> str:
    rows = []
    for total in found.values():
        metric, kind = total.metric, total.metric.kind
        goal = "" if metric.target is None else error_text(metric.target, kind)
        if metric.target is not None and kind is DISTANCE:
            goal = f"{metric.target:g} x repeats"
        median = f"{100 * total.bias:.0f} % wrong" if kind is WRONG else error_text(total.median, kind)
        rows.append([
            metric.title, median, _goal(goal, total.meets_target), error_text(total.p90, kind), error_text(total.worst, kind),
            _goal("" if metric.worst is None else error_text(metric.worst, kind), total.meets_worst),
            "" if kind in (WRONG, DISTANCE) else error_text(total.bias, kind, signed=True), error_text(total.noise, kind),
            _share(total.within_noise), _share(total.coverage), str(total.values),
        ])  # fmt: skip
    head = (
        "metric",
        "median",
        "target",
        "P90",
        "worst",
        "target",
        "bias",
        "noise",
        "within 2 x noise",
        "in 90 % interval",
        "values",
    )
    return markdown(head, rows) if rows else "No case was scored."


def _goal(text: str, met: bool | None) -> str:
    return "" if not text else f"{text}, {'unknown' if met is None else 'met' if met else '**missed**'}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def _coverage(rows: Sequence[Row]) -> str:
    held = coverage(rows)
    if held is None:
        return ""
    low, high = COVERAGE
    met = "met" if low <= held[0] <= high else "**missed**"
    return f"90 % intervals hold {_share(held[0])} of {held[1]} real values; wanted {_share(low)} to {_share(high)}: {met}."


def _missed(card: Scorecard) -> list[str]:
    found = missed(card.scored, card.of(*SCORED), read_findings())
    if not found:
        return []
    parts = ["## Missed targets"]
    for miss in found:
        parts.append(f"### {miss['title']}")
        parts.append(
            "Furthest off: " + ", ".join(_miss_case(c, miss) for c in miss["cases"]) + _more(miss["more"]) + "."
        )
        for finding in miss["findings"]:
            about = f"{', '.join(finding['cases'])}: " if finding["cases"] else ""
            parts.append(f"{about}**suspected** {finding['mechanism']} **What would decide:** {finding['experiment']}")
    return parts


def _miss_case(case: Mapping[str, Any], miss: Mapping[str, Any]) -> str:
    own = "" if case["metric"] == miss["metric"] else f" {case['metric']}"
    return f"{case['name']}{own} ({error_text(case['error'], KINDS[miss['kind']], signed=True)})"


def _more(count: int) -> str:
    return f" and {count} more" if count else ""


def _by_set(card: Scorecard) -> list[str]:
    parts = []
    for name in card.sets:
        title = SET_TITLES[name]
        parts += [f"## {title[0].upper()}{title[1:]}", _ABOUT_SETS.get(name, ""), _target_table(totals(card.of(name)))]
        if name in (RERUNS, WHAT_IFS):
            parts.append(_case_table(card.of(name)))
    return parts


def _engines(card: Scorecard) -> list[str]:
    found = engine_rows(card)
    if not found:
        return []
    text = (
        "Runs of the authors' released code and of LevelDB on a throttled disk "
        "(`validation/scorecard/real_engines.py`). Goals: throughput within 10 %, W-Amp 8 %, "
        "shares 8 points, or twice the noise between repeats."
    )
    rows = [[r.case, r.metric, r.real, r.simulated, r.error, "met" if r.met else "**missed**"] for r in found]
    return ["## Recorded engines, run by run", text, markdown(("run", "number", "real", "simulated", "error", "goal"), rows)]


def _cases(card: Scorecard) -> list[str]:
    rows = card.of(*SCORED)
    about = "Signed errors: + means that the simulation is above the real run."
    return ["## Every case", about, _case_table(rows)] if rows else []


def _case_table(found: Sequence[Row]) -> str:
    by_case: dict[tuple[str, str], dict[str, Row]] = {}
    for row in found:
        by_case.setdefault((row.set, row.case), {})[row.metric] = row
    shown = [(title, name) for title, name in _CASE_METRICS.items() if any(row.metric == name for row in found)]
    sets = len({name for name, _ in by_case}) > 1
    rows = [
        [case, *([set_name] if sets else []), *(_cell(mine.get(metric)) for _, metric in shown)]
        for (set_name, case), mine in by_case.items()
    ]
    return markdown(("case", *(["set"] if sets else []), *(title for title, _ in shown)), rows)


def _cell(row: Row | None) -> str:
    return "" if row is None else error_text(row.error, row.scored_by.kind, signed=row.scored_by.kind is not DISTANCE)


def _trends(card: Scorecard) -> list[str]:
    shares = trend_shares(card.trends)
    if not shares:
        return []
    text = (
        "Pairs of cases that differ in one key, and whose real values differ by more than 5 % (5 points for shares): how often "
        "the simulation moves the same way."
    )
    rows = [[name, str(e["right"]), str(e["total"]), _wrong(e["wrong"])] for name, e in shares.items()]
    return ["## What a change does", text, markdown(("metric", "same direction", "pairs", "other direction"), rows)]


def _wrong(pairs: Sequence[Mapping[str, Any]]) -> str:
    shown = [
        f"{p['first']} to {p['second']} ({p['key']}: {p['real']:+.0%}, here {p['simulated']:+.0%})" for p in pairs[:4]
    ]
    return "; ".join([*shown, *([f"{len(pairs) - 4} more"] if len(pairs) > 4 else [])])


def _replays(card: Scorecard) -> list[str]:
    if not card.replays:
        return []
    names = len({check.recording for check in card.replays})
    rows = [
        [name, f"{e['matched']:,}", f"{e['total']:,}", f"{100 * e['share']:.2f} %"]
        for name, e in replay_shares(card.replays).items()
        if e["total"]
    ]
    text = f"Fed with the real order of events of {names} recordings, the policies are asked what RocksDB was asked."
    return ["## Exact replays", text, markdown(("decision", "RocksDB's own answer", "asked", "share"), rows)]


def _theory(card: Scorecard) -> list[str]:
    rows = [
        [
            c.name,
            f"{c.expected:.5g}",
            f"{c.found:.5g}",
            f"{c.tolerance:.1%}",
            "holds" if c.holds else "**missed**",
            c.source,
        ]
        for c in card.theory
    ]
    return (
        ["## Theory checks", markdown(("check", "theory", "simulator", "tolerance", "", "source"), rows)]
        if rows
        else []
    )


def _left_out(card: Scorecard) -> list[str]:
    lines = [*card.skipped, *(f"{name} failed: {reason}" for name, reason in card.failures)]
    return ["## Left out", "\n".join(f"- {line}" for line in lines)] if lines else []
