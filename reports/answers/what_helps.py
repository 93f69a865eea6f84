"""Part of a run's page: the changes that would help its store, those to try first, or the command that finds them."""

from __future__ import annotations

import html
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.reports.answers.stopped import queued
from lsmlab.reports.differences import change_with_interval, wanted
from lsmlab.reports.parts import Html, bullets
from lsmlab.reports.run_data import PAGE, RunData
from lsmlab.sim.explain.bottleneck import Bottleneck
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.studies.advise import SHORT, ShortAdvice
from lsmlab.sim.studies.candidates import OPTIONS, CandidateChange, ChangeKind, candidates
from lsmlab.sim.studies.goals import GOALS
from lsmlab.sim.yaml_text import parse_yaml

KINDS: Final = {
    "options": "Options", "compression": "Compression", "machine": "Hardware and limits", "policies": "Other policies",
}  # fmt: skip
"""Title of each kind of change that an advice tries."""
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    Bottleneck.DEVICE_BANDWIDTH: ("device",),
    Bottleneck.DEVICE_REQUESTS: ("device",),
    Bottleneck.SYNC: ("device",),
    Bottleneck.CORES: ("host.cores",),
    Bottleneck.SLOTS: (f"{OPTIONS}.max_background_jobs", f"{OPTIONS}.max_subcompactions"),
    Bottleneck.L0_COMPACTION: (f"{OPTIONS}.max_subcompactions",),
    Bottleneck.COMPACTION_SPEED: (f"{OPTIONS}.max_subcompactions",),
    Bottleneck.MEMTABLES: (f"{OPTIONS}.max_write_buffer_number",),
}
"""Keys that relieve a bottleneck."""
_LIMITS_OF_ROCKSDB: Final = (
    Bottleneck.SLOTS, Bottleneck.L0_COMPACTION, Bottleneck.COMPACTION_SPEED, Bottleneck.LOCKED_FILES, Bottleneck.THROTTLE,
)  # fmt: skip
_LATER: Final = {
    "l0": f"{OPTIONS}.level0_slowdown_writes_trigger",
    "pending": f"{OPTIONS}.soft_pending_compaction_bytes_limit",
    "memtable": f"{OPTIONS}.max_write_buffer_number",
}
"""Key that lets writers go on longer, by the kind of stall; with a limit of RocksDB, hardware is left for the work."""
_RAISED: Final = {Bottleneck.WRITE_CAP: "write_cap", Bottleneck.READ_CAP: "read_cap", Bottleneck.IOPS_CAP: "iops_cap"}
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
        return content if content.goal in GOALS else None
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


def _changes(known: ShortAdvice) -> str:
    goal = GOALS[known.goal]
    items = []
    for entry in known.best:
        sure = "" if entry.change.certain else ", within the error"
        effect = f"({entry.why}): {goal.label} {change_with_interval(entry.change)}{sure}"
        items.append(
            Html(f"<b>{html.escape(f'{KINDS.get(entry.kind, entry.kind)}: {entry.name}')}</b> {html.escape(effect)}")
        )
    page = quote(f"{known.directory}/{PAGE}")
    best = known.best[0].name if known.best else "No change within the limits"
    return (
        f"<p class='big'>{html.escape(best)}</p><p>For {html.escape(wanted(goal))}, with 90 % intervals; "
        f"{html.escape(known.limits)}; best of {known.tried} changes. <a href='{page}'>All changes</a></p>{bullets(items)}"
    )


def first_tries(run: RunData) -> list[CandidateChange]:
    """Return up to three changes that the bottleneck of a run suggests; none for an unknown bottleneck."""
    found, queue = run.summary.get("bottleneck") or {}, queued(run)
    config = parse_yaml(run.config_text, run.directory / "config.yaml") if run.config_text else _config_of_import(run)
    options, resource = run.summary.get("options"), queue.resource if queue else found.get("resource")
    if not isinstance(config, dict) or not isinstance(options, dict) or resource is None:
        return []
    if resource == Bottleneck.LIMITER or resource in _RAISED:
        return list(_raised(resource, config))
    keys = [*_KEYS.get(resource, ()), *_later(resource, found.get("lost_by_cause") or {})]
    cores = (config.get("host") or {}).get("cores")
    try:
        tried = candidates(options, config, float(cores or 1))
    except (KeyError, TypeError, ValueError):  # the options of an old run, or of an imported LOG, may lack some
        return []
    jobs = options["max_background_jobs"]
    fewer = {f"{OPTIONS}.max_background_jobs={n}" for n in range(1, int(jobs))}
    chosen = [next((c for c in tried if key in c.keys and c.name and not fewer & set(c.overrides)), None) for key in keys]
    return [change for change in dict.fromkeys(chosen) if change is not None][:_MOST]


def _config_of_import(run: RunData) -> dict[str, Any] | None:
    """Return the configuration of an imported LOG as far as changes of options need it; None for a run without one."""
    return {} if "import" in run.summary else None


def _later(resource: str, lost_by_cause: Mapping[str, float]) -> Iterator[str]:
    if resource in _LIMITS_OF_ROCKSDB and lost_by_cause:
        costliest = max(lost_by_cause, key=lambda cause: lost_by_cause[cause])
        yield from [key for kind, key in _LATER.items() if costliest.startswith(kind)]


def _raised(resource: str, config: Mapping[str, Any]) -> Iterator[CandidateChange]:
    """Yield twice the value of the cap or rate limit that was in full use."""
    name = _RAISED.get(Bottleneck(resource), "")
    options = (config.get("engine") or {}).get("options") or {}
    places = (
        [(f"{place}.{name}", (config.get(place) or {}).get(name)) for place in ("device", "limits")] if name
        else [(f"{OPTIONS}.rate_limiter_bytes_per_sec", options.get("rate_limiter_bytes_per_sec"))]
    )  # fmt: skip
    for key, value in places:
        if value is None:
            continue
        try:
            twice = 2 * parse_quantity(value, "count" if name == "iops_cap" else "bytes_per_s")
        except InputError:
            continue
        text = f"{twice:.0f}" if name == "iops_cap" else f"{twice / 1e6:g}MB/s"
        yield CandidateChange((f"{key}={text}",), "twice the limit", ChangeKind.MACHINE)
