"""Writes the scorecard to docs/validation.md (`lsmlab validate --write-docs`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.validation.checkout import HOME
from lsmlab.validation.markdown import digest_comment, table
from lsmlab.validation.scorecard.card import (
    CALIBRATION,
    RERUNS,
    SCORED,
    SET_TITLES,
    WHAT_IFS,
    WIDER,
    Scorecard,
    engine_rows,
    replay_shares,
)
from lsmlab.validation.scorecard.ci_baseline import digest, write_baseline
from lsmlab.validation.scorecard.findings import missed_targets, read_findings
from lsmlab.validation.scorecard.metrics import COVERAGE, DISTANCE, KINDS, WRONG, error_text
from lsmlab.validation.scorecard.score import ScoreRow, Total, coverage, totals
from lsmlab.validation.scorecard.text import median_goal
from lsmlab.validation.scorecard.trends import trend_shares

FILE: Final = HOME / "docs" / "validation.md"
_CASE_METRICS: Final = {
    "throughput": "ops_per_s", "W-Amp": "write_amplification", "stall fraction": "stall_fraction",
    "device bytes": "device_bytes_written", "P99": "write_latency_s.p99", "P99.9": "write_latency_s.p999", "KS": "throughput.ks",
}  # fmt: skip
_ABOUT_SETS: Final = {
    CALIBRATION: "The constants were fitted to these runs, so the errors show the quality of the fit, not the "
    "accuracy of the simulator.",
    WIDER: "Kinds of store and load that the calibration runs of their machine (`validation/cases/calibration_zen5`) do "
    "not have: column families, compression, subcompactions, deep dynamic trees, large values, synced writes, several "
    "writers, bulk loads, reads, RocksDB 8 to 10, and half an hour in the steady state (all but `steady_bw100` on a slower "
    "machine, simulated with `recording_vm`). Each kind has as many recordings in quarantine.",
    RERUNS: "`lsmlab import LOG`, then the same run with clients at full speed. Options, load, device and processor "
    "come from one LOG (the first of several repeats); only the number of cores and the kind of drive (`--device`) "
    "come from the case. Runs with reads or with a rate limit on the clients are left out, because a LOG contains "
    "neither. The rules of the importer were written with these LOGs at hand; no number was fitted to a case.",
    WHAT_IFS: "Device and processor come from the LOG of one run (in brackets), options and load from another run on "
    "the same machine. This is the question of an engineer who has a LOG and wants to predict the effect of other "
    "options.",
}


def write_documents(card: Scorecard) -> None:
    """Write docs/validation.md and validation/scorecard/baseline.json."""
    FILE.write_text(document_text(card), encoding="utf-8")
    write_baseline(card)


def document_text(card: Scorecard) -> str:
    """Return the whole document."""
    parts = [
        "# Accuracy: LSMLab compared with real RocksDB",
        digest_comment(digest()),
        "`lsmlab validate --write-docs` (`make validate`) writes this page; do not edit it. Definition of errors and "
        "intervals: [confidence](background/confidence.md). How the constants of each machine came about: "
        "[parameter sets](reference/parameter-sets.md). How to score your own runs: "
        "[how-to](how-to/score-your-own-runs.md).",
        _sizes(card),
        "## Targets",
        _target_table(card.scored),
        _coverage(card.of(*SCORED)),
        "Errors are absolute values of simulated against real numbers; bias keeps the sign. pt: percentage points; "
        "b: buckets of RocksDB's histogram (each bound is 1.5 times the one before); x: ratio. Noise is the range "
        "between repeats of the real run, as median over the cases with repeats. The target of the KS distance is "
        "relative to the distance between repeats.",
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


def _target_table(found: Mapping[str, Total]) -> str:
    rows = []
    for total in found.values():
        metric, kind = total.metric, total.metric.kind
        median = f"{100 * total.bias:.0f} % wrong" if kind is WRONG else error_text(total.median, kind)
        rows.append([
            metric.title, median, _goal(median_goal(metric), total.meets_target), error_text(total.p90, kind),
            error_text(total.worst, kind),
            _goal("" if metric.worst is None else error_text(metric.worst, kind), total.meets_worst),
            "" if kind in (WRONG, DISTANCE) else error_text(total.bias, kind, signed=True), error_text(total.noise, kind),
            _share(total.within_noise), _share(total.coverage), str(total.values),
        ])  # fmt: skip
    head = ("metric", "median", "target", "P90", "worst", "target", "bias", "noise", "within 2 x noise", "in 90 % interval",
            "values")  # fmt: skip
    return table(head, rows) if rows else "No case was scored."


def _goal(text: str, met: bool | None) -> str:
    return "" if not text else f"{text}, {'unknown' if met is None else 'met' if met else '**missed**'}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def _coverage(rows: Sequence[ScoreRow]) -> str:
    held = coverage(rows)
    if held is None:
        return ""
    low, high = COVERAGE
    met = "met" if low <= held[0] <= high else "**missed**"
    target = f"target {_share(low)} to {_share(high)}: {met}"
    half = "The model's own error was learnt from the other half of the cases."
    return f"90 % intervals contain {_share(held[0])} of {held[1]} real values; {target}. {half}"


def _missed(card: Scorecard) -> list[str]:
    found = missed_targets(card.scored, card.of(*SCORED), read_findings())
    if not found:
        return []
    parts = ["## Missed targets"]
    for miss in found:
        parts.append(f"### {miss['title']}")
        parts.append(
            "Largest errors: " + ", ".join(_miss_case(c, miss) for c in miss["cases"]) + _more(miss["more"]) + "."
        )
        for finding in miss["findings"]:
            about = f"{', '.join(finding['cases'])}: " if finding["cases"] else ""
            cause, experiment = finding["mechanism"], finding["experiment"]
            parts.append(f"{about}**Suspected cause:** {cause} **Deciding experiment:** {experiment}")
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
        if name in (WIDER, RERUNS, WHAT_IFS):
            parts.append(_case_table(card.of(name)))
    return parts


def _engines(card: Scorecard) -> list[str]:
    found = engine_rows(card)
    if not found:
        return []
    text = (
        "Runs of the authors' released code and of LevelDB on a throttled disk "
        "(`validation/scorecard/real_engines.py`). Goals: error of throughput up to 10 %, of W-Amp up to 8 %, "
        "of shares up to 8 points, or up to twice the noise between repeats."
    )
    rows = [[r.case, r.metric, r.real, r.simulated, r.error, "met" if r.met else "**missed**"] for r in found]
    return ["## Recorded engines, run by run", text, table(("run", "number", "real", "simulated", "error", "goal"), rows)]


def _cases(card: Scorecard) -> list[str]:
    rows = card.of(*SCORED)
    about = "Signed errors: + means that the simulated value is above the real one."
    return ["## Every case", about, _case_table(rows)] if rows else []


def _case_table(found: Sequence[ScoreRow]) -> str:
    by_case: dict[tuple[str, str], dict[str, ScoreRow]] = {}
    for row in found:
        by_case.setdefault((row.set, row.case), {})[row.metric] = row
    shown = [(title, name) for title, name in _CASE_METRICS.items() if any(row.metric == name for row in found)]
    sets = len({name for name, _ in by_case}) > 1
    rows = [
        [case, *([set_name] if sets else []), *(_cell(mine.get(metric)) for _, metric in shown)]
        for (set_name, case), mine in by_case.items()
    ]
    return table(("case", *(["set"] if sets else []), *(title for title, _ in shown)), rows)


def _cell(row: ScoreRow | None) -> str:
    return "" if row is None else error_text(row.error, row.scored_by.kind, signed=row.scored_by.kind is not DISTANCE)


def _trends(card: Scorecard) -> list[str]:
    shares = trend_shares(card.trends)
    if not shares:
        return []
    text = (
        "Pairs of cases that differ in one key and whose real values differ by more than 5 % (5 points for shares): "
        "count of pairs in which the simulated value changes in the same direction."
    )
    rows = [[name, str(e["right"]), str(e["total"]), _wrong(e["wrong"])] for name, e in shares.items()]
    head = ("metric", "same direction", "pairs", "other direction")
    return ["## Effect of one changed key", text, table(head, rows)]


def _wrong(pairs: Sequence[Mapping[str, Any]]) -> str:
    shown = [
        f"{p['first']} to {p['second']} ({p['key']}: real {p['real']:+.0%}, simulated {p['simulated']:+.0%})"
        for p in pairs[:4]
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
    text = (
        f"The policies decide at each step of {names} recorded runs, in the real order of events; a decision counts "
        "if it is the same as RocksDB's."
    )
    return ["## Exact replays", text, table(("decision", "same as RocksDB", "decisions", "share"), rows)]


def _theory(card: Scorecard) -> list[str]:
    rows = [
        [c.name, f"{c.expected:.5g}", f"{c.found:.5g}", f"{c.tolerance:.1%}", "holds" if c.holds else "**missed**", c.source]
        for c in card.theory
    ]
    return ["## Theory checks", table(("check", "theory", "simulator", "tolerance", "", "source"), rows)] if rows else []


def _left_out(card: Scorecard) -> list[str]:
    lines = [*card.skipped, *(f"{name} failed: {reason}" for name, reason in card.failures)]
    return ["## Left out", "\n".join(f"- {line}" for line in lines)] if lines else []
