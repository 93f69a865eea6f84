"""Part of a run's page: the changes that would help its store, those to try first, or the command that finds them."""

from __future__ import annotations

import html
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from lsmlab.models.errors import InputError
from lsmlab.models.units import format_bytes
from lsmlab.reports.answers.stopped import queued
from lsmlab.reports.differences import change_with_interval, verdict_text, wanted
from lsmlab.reports.parts import Html, bullets
from lsmlab.reports.run_data import PAGE, RunData
from lsmlab.sim.explain.bottleneck import Bottleneck
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.studies.advise import SHORT, PresentState, ShortAdvice, Tried
from lsmlab.sim.studies.candidate_rows import Relief, Symptom
from lsmlab.sim.studies.candidates import CandidateChange, candidates, relieving, stalled_families
from lsmlab.sim.studies.metrics import BY_NAME
from lsmlab.sim.studies.present import Present
from lsmlab.sim.yaml_text import parse_yaml

KINDS: Final = {
    "options": "Options", "compression": "Compression", "migration": "Options that reorganize all files",
    "machine": "Hardware and limits", "policies": "Other policies", "application": "The application",
}  # fmt: skip
"""Title of each kind of change that an advice tries, the cheap ones first."""
_COSTS: Final = (
    "space_amplification", "write_amplification", "device.write_bytes_per_s", "device.years_left", "read_latency_s.p99",
)  # fmt: skip
"""Metrics that belong to the price of a change."""
_LIMITS_OF_ROCKSDB: Final = (
    Bottleneck.SLOTS, Bottleneck.L0_COMPACTION, Bottleneck.COMPACTION_SPEED, Bottleneck.LOCKED_FILES, Bottleneck.THROTTLE,
)  # fmt: skip
_MOST: Final = 3
"""Largest number of changes to name."""


def what_helps(run: RunData, first: Sequence[CandidateChange] = (), *, calm: bool = False) -> str:
    """Return the HTML of the changes that would help.

    These are the best changes of an advice; without an advice, the changes to try `first`. In a `calm` run nothing waited.
    """
    known = _read(run.directory / SHORT)
    if known is not None:
        return _changes(known)
    if calm:
        return "<p class='big'>Nothing to mend</p><p>Without stalls, no change of the store can prevent one.</p>"
    return _commands(run.directory, first)


def _read(path: Path) -> ShortAdvice | None:
    """Return the short form of an advice; None if there is none, or it is damaged."""
    try:
        content = ShortAdvice.read(path)
        return content if content.metric in BY_NAME else None
    except InputError:
        return None


def _commands(directory: Path, first: Sequence[CandidateChange]) -> str:
    """Return the changes to try first, and the commands that measure them or find others."""
    place = shlex.quote(str(display_path(directory)))
    advise = _code(f"lsmlab advise {place}")
    tries = "tries some thirty changes of options, machine and policies, ranks them and shows the best here:"
    if not first:
        return f"<p class='big'>Not tried yet</p><p>This command {tries}</p>{advise}"
    best, *others = first
    more = bullets(Html(f"or <b>{html.escape(change.name)}</b>: {html.escape(change.why)}") for change in others)
    whatif = _code(f"lsmlab whatif {place} {' '.join(shlex.quote(' '.join(change.overrides)) for change in first)}")
    return (
        f"<p class='big'>Try {html.escape(best.name)}</p><p>Purpose: {html.escape(best.why)}. Bottleneck and cause suggest "
        f"this; it is not simulated yet.</p>{more}<p>This command measures the effect:</p>{whatif}<p>This one {tries}</p>{advise}"
    )


def _code(command: str) -> str:
    return f"<pre tabindex='0'><code>{html.escape(command)}</code></pre>"


def price(entry: Tried, present: PresentState) -> str:
    """Return what a change costs: the work, memory, and each number that it certainly makes worse."""
    parts = [entry.effort]
    if entry.memory_bytes != present.memory_bytes:
        sizes = f"{format_bytes(present.memory_bytes)} -> {format_bytes(entry.memory_bytes)}"
        parts.append(f"memtables and block cache {sizes}")
    for found in entry.differences:
        metric = BY_NAME[found.metric]
        if found.metric in _COSTS and found.certain and (found.change > 0.0) is not metric.higher_is_better:
            parts.append(f"{metric.label} {change_with_interval(found)}")
    return "; ".join(parts)


def leaves(entry: Tried) -> str:
    """Return what a change does not mend."""
    if entry.state.overload:
        return entry.state.overload
    stalled = entry.of("stall_fraction")
    if stalled is not None and stalled.alternative > 0.0:
        then = f"; then {entry.state.bottleneck}" if entry.state.bottleneck else ""
        return f"writers are still stopped or slowed {stalled.alternative:.1%} of the time{then}"
    return "no stalls"


def effect(entry: Tried, metric: str) -> str:
    """Return the effect of a change on a metric, with its interval and how sure it is."""
    found, label = entry.of(metric), BY_NAME[metric].label
    if found is None:
        return f"{label} unknown"
    if found.tie:
        return f"{label} exactly the same"
    doubt = "" if found.certain and found.settled else f", {verdict_text(found).removeprefix('beyond the error, ')}"
    return f"{label} {change_with_interval(found)}{doubt}"


def _changes(known: ShortAdvice) -> str:
    items = []
    for entry in known.best:
        title = f"{KINDS.get(entry.kind, entry.kind)}: {entry.name}"
        texts = (effect(entry, known.metric), f"reason: {entry.why}", f"price: {price(entry, known.present)}")
        items.append(Html(f"<b>{html.escape(title)}</b>: {html.escape('; '.join(texts))}"))
    page = quote(f"{known.directory}/{PAGE}")
    sure = next((one for one in known.best if (found := one.of(known.metric)) is not None and found.certain), None)
    best = sure.name if sure is not None else "No change certainly helps within the limits"
    left = f"<p>With it: {html.escape(leaves(sure))}.</p>" if sure is not None else ""
    return (
        f"<p class='big'>{html.escape(best)}</p><p>For {html.escape(wanted(BY_NAME[known.metric]))}, with 90 % intervals; "
        f"{html.escape(known.limits)}; best of {known.tried} changes. <a href='{page}'>All changes</a></p>{bullets(items)}{left}"
    )


def first_tries(run: RunData) -> list[CandidateChange]:
    """Return up to three changes that the bottleneck of a run suggests; none for an unknown bottleneck."""
    found, queue = run.summary.get("bottleneck") or {}, queued(run)
    config = parse_yaml(run.config_text, run.directory / "config.yaml") if run.config_text else _config_of_import(run)
    resource = queue.resource if queue else found.get("resource")
    if not isinstance(config, dict) or not isinstance(run.summary.get("options"), dict) or resource is None:
        return []
    try:
        tried = candidates(Present.of(run.summary, config), stalled_families(run.summary))
    except (InputError, KeyError, TypeError, ValueError):  # the options of an old run, or of an imported LOG, may be others
        return []
    chosen: dict[frozenset[str], CandidateChange] = {}
    needed: list[Relief] = [Bottleneck(resource), *_cause(resource, found.get("lost_by_cause") or {})]
    for need in needed:
        for change in relieving(tried, need, needed):
            chosen.setdefault(frozenset(change.keys), change)
    return list(chosen.values())[:_MOST]


def _config_of_import(run: RunData) -> dict[str, Any] | None:
    """Return the configuration of an imported LOG as far as changes of options need it; None for a run without one."""
    return {} if "import" in run.summary else None


def _cause(resource: str, lost_by_cause: Mapping[str, float]) -> list[Symptom]:
    """Return the kind of stall that cost most, where a limit of RocksDB is the bottleneck: hardware is left for the work."""
    if resource not in _LIMITS_OF_ROCKSDB or not lost_by_cause:
        return []
    costliest = max(lost_by_cause, key=lambda cause: lost_by_cause[cause])
    return [symptom for symptom in Symptom if costliest.startswith(symptom)]
