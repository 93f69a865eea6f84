"""Conclusion of a run: the five answers of its page as sentences, for the terminal, JSON and programs."""

from __future__ import annotations

from typing import Final

from lsmlab.reports.answers.confidence import confidence
from lsmlab.reports.answers.stopped import TIMES_UNKNOWN, failures, how_long, is_calm, queued, what_stopped, why_queued
from lsmlab.reports.conclusion import Conclusion, bottleneck_sentence
from lsmlab.reports.drive_source import drive_sentence_of_run
from lsmlab.reports.run_data import RunData
from lsmlab.sim.explain.sentences import overload_text

COLUMNS: Final = {"series": ("t_s", "backlog_ops"), "jobs": ("start_s", "reason"), "stalls": ("start_s",)}
"""Columns of these tables from which a conclusion follows; the other columns of a long run take much memory."""


def conclude(run: RunData) -> Conclusion:
    """Return the conclusion of a simulated or imported run."""
    stopped, causes = what_stopped(run)
    long, costs = how_long(run)
    over = run.summary.get("overload")
    more = [f"The store {overload_text(over)}."] if over else []
    headline, doubts = confidence(run)
    return Conclusion(
        "No write stalls." if is_calm(run) else f"{stopped}: {long}.", [*more, *causes, *costs], why=_why(run),
        would_help=_helps(run), how_sure=[f"{headline}.", *doubts], about=drive_sentence_of_run(run),
    )  # fmt: skip


def _why(run: RunData) -> list[str]:
    if (queue := queued(run)) is not None:
        headline, sentences = why_queued(run, queue)
        return [f"{headline}.", *sentences]
    if run.stall_times_unknown:
        return [TIMES_UNKNOWN]
    text = bottleneck_sentence(str((run.summary.get("bottleneck") or {}).get("text") or ""))
    return [text[:1].upper() + text[1:]] if text else []


def _helps(run: RunData) -> list[str]:
    if found := failures(run):
        return [remedy for _, remedy in found]
    if is_calm(run):
        return []
    from lsmlab.reports.answers.what_helps import first_tries  # it loads the questions of `advise`

    tries = [f"The bottleneck suggests {change.name} ({change.why}); not simulated yet." for change in first_tries(run)]
    return [*tries, "`lsmlab advise FOLDER` tries changes and ranks them."]
