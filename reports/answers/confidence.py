"""How sure the numbers of a run are: seeds, the model's own error, warm-up, length, and what the run does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lsmlab.reports import numbers
from lsmlab.reports.headline import endurance_years
from lsmlab.reports.run_data import RunData, configuration
from lsmlab.sim.explain.bottleneck import SATURATED
from lsmlab.sim.explain.not_simulated import not_covered, remarks, warnings
from lsmlab.sim.studies.intervals import IMPORTED_SET, Knowledge, knowledge_of
from lsmlab.sim.studies.metrics import METRICS
from lsmlab.sim.studies.summary_intervals import intervals

_BOUNDED: Final = ("ops_per_s", "write_amplification", "stall_fraction", "write_latency_s.p999", "read_latency_s.p99")
"""Numbers of which the answer names the interval."""
_RECORDED: Final = {
    Knowledge.MEASURED: "recorded runs of RocksDB whose machine and drive were measured",
    Knowledge.IMPORTED: "recorded runs of RocksDB whose machine was inferred from one LOG",
    Knowledge.CATALOGUE: "recorded runs of RocksDB of which only the drive's data sheet and the number of cores were known",
}  # fmt: skip
"""Runs from which the intervals were learnt."""
_CLOSE: Final = 0.05
"""Difference of two uses of resources below which the run cannot tell which one is the bottleneck."""
_USES: Final = {
    "limiter": "the rate limiter", "write_cap": "the cap on written bytes", "read_cap": "the cap on read bytes",
    "iops_cap": "the cap on operations", "device": "the device", "cores": "the cores",
}  # fmt: skip


def confidence(run: RunData) -> tuple[str, list[str]]:
    """Return headline and sentences on how sure the answers are."""
    ignored = run.summary.get("not_simulated") or ()
    doubts = [*warnings(ignored), *(text for text in (settled_sentence(run), tie_sentence(run)) if text)]
    if "import" in run.summary:
        headline, sentences = _shown_by_input(run)
        return headline, [*sentences, *doubts]
    facts = [_real_store(run), *remarks(ignored), _seeds(run), _sampling(run), _endurance(run)]
    headline = "A simulation with doubts" if doubts else "As sure as the model"
    return headline, [*doubts, *(text for text in facts if text)]


def _shown_by_input(run: RunData) -> tuple[str, list[str]]:
    """Return headline and sentences on what an imported text shows of jobs and stalls, and what it does not show."""
    if run.only_statistics:
        return "RocksDB's sums, and no times", [
            "The input has statistics and few events or none: sums since the store was opened, not when each job ran.",
            *_stalls_without_times(run),
        ]
    if run.stall_times_unknown:
        jobs = ["The LOG shows when each flush and compaction started and ended."] if len(run.jobs["start_s"]) else []
        headline = "The times of jobs are the LOG's; those of stalls are unknown" if jobs else "Lines of a LOG without its jobs"
        return headline, [*jobs, *_stalls_without_times(run)]
    return "Times are the LOG's; the use of device and cores is not in it", _shown_by_log(run)


def _stalls_without_times(run: RunData) -> list[str]:
    if run.stalls_unknown:
        return ["Whether writers were stalled is not in it."]
    if not run.stall_times_unknown:
        return []
    sum_known = bool(run.number("stall_fraction") or run.number("stall_measured.seconds"))
    return ["How long writers were stalled is RocksDB's own sum. When, and what ran meanwhile, is not in it." if sum_known
            else "It has stalls. How long they took, and what ran meanwhile, is not in it."]  # fmt: skip


def _shown_by_log(run: RunData) -> list[str]:
    """Return what a LOG with the times of stalls shows of their reasons, and what it does not show."""
    known = (run.summary.get("bottleneck") or {}).get("threads")
    threads = "the number of threads in its options" if known else "not from threads, whose number it does not give"
    waited = (
        "A slowdown counts in full, although writers may have waited for a part of it only."
        if run.summary.get("stall_measured") is None
        else "Slowdowns are scaled to RocksDB's own sum of stall times."
    )
    return [
        "The LOG shows when each flush and compaction started and ended, and when writers were slowed or stopped. What held "
        f"up the stalls follows from these times and {threads}.",
        "It does not show what a job waited for while it ran. A busy thread may itself have waited for the device; whether more "
        "threads help is a question for `lsmlab whatif`.",
        f"It does not show the wait of each write either. {waited}",
        "Lost operations are estimated: the rate without stalls is taken as the rate that clients wanted.",
    ]


def settled_sentence(run: RunData) -> str:
    """Return a warning if the run does not show the store as it stays; else ""."""
    found = run.summary.get("settled") or {}
    if found.get("settled") is not False:
        return ""
    length = numbers.duration(run.duration_s)
    return f"Not settled: {found['reason']}. The numbers are those of these {length}; a longer run may differ."


def tie_sentence(run: RunData) -> str:
    """Return a sentence if two resources were in nearly the same full use; else ""."""
    found = run.summary.get("bottleneck") or {}
    if found.get("resource") in (None, "none", "unknown"):
        return ""
    uses = sorted(((use, name) for name, use in found.get("uses", {}).items() if name in _USES), reverse=True)
    if len(uses) < 2 or uses[1][0] < SATURATED or uses[0][0] - uses[1][0] > _CLOSE:
        return ""
    (first, a), (second, b) = uses[:2]
    return (
        f"A tie: {_USES[a]} ({numbers.percent(first)}) and {_USES[b]} ({numbers.percent(second)}) were both in full use during "
        "the stalls, so relieving one of them alone helps little."
    )


def _seeds(run: RunData) -> str:
    runs = run.number("replications")
    if runs and runs > 1:
        low, high = (run.number(f"interval.ops_per_s.seeds_{end}") for end in ("low", "high"))
        if low is not None and high is not None:
            between = f"{numbers.count(low)} and {numbers.per_second(high)}"
            return f"{runs:.0f} seeds; nine of ten runs with further seeds have a throughput between {between}."
    return "One seed: the exact times of stalls are those of one possible run. `--replications 5` shows the noise between seeds."


def _real_store(run: RunData) -> str:
    """Return the intervals for the real store, and from which kind of recorded runs they were learnt."""
    config = configuration(run)
    knowledge = knowledge_of(config)
    known = run.summary.get("interval") or intervals(config, [run.summary])
    ends = [(metric, *_ends(known, metric.name)) for metric in METRICS if metric.name in _BOUNDED]
    left_out = not_covered(run.summary.get("not_simulated") or ())
    shown = [f"{metric.label} {metric.form(low)} to {metric.form(high)}" for metric, low, high in ends if low is not None]
    if knowledge is None or not shown:
        imported = (config.get("host") or {}).get("parameters") == IMPORTED_SET
        why = "the imported text lacks options or machine" if imported else "nobody recorded runs of this kind"
        return f"How far the real store may be off is not known: {why}."
    errors = f"They are the errors of {_RECORDED[knowledge]}. {left_out}".rstrip()
    return f"90 % intervals for the real store: {', '.join(shown)}. {errors}"


def _ends(known: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    node: Any = known
    for key in name.split("."):
        node = node.get(key) if isinstance(node, Mapping) else None
    return (node["low"], node["high"]) if isinstance(node, Mapping) else (None, None)


def _sampling(run: RunData) -> str:
    error = run.number("keys.error")
    return f"Keys are sampled: overlaps of one file are {numbers.percent(error)} off (standard error)." if error else ""


def _endurance(run: RunData) -> str:
    device = run.summary.get("device")
    if not isinstance(device, dict) or "years_left" not in device or endurance_years(run) is not None:
        return ""
    return "The endurance of the device is unknown: its data sheet gives no rated bytes."
