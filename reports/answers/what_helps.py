"""Part of a run's page: the changes that would help its store, or the command that finds them."""

from __future__ import annotations

import html
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from lsmlab.models.errors import InputError
from lsmlab.reports.differences import change_with_interval, wanted
from lsmlab.reports.parts import Html, bullets
from lsmlab.reports.run_data import PAGE, RunData
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.studies.advise import SHORT, ShortAdvice
from lsmlab.sim.studies.candidates import CandidateChange
from lsmlab.sim.studies.goals import GOALS

KINDS: Final = {
    "options": "Options", "compression": "Compression", "machine": "Hardware and limits", "policies": "Other policies",
}  # fmt: skip
"""Title of each kind of change that an advice tries."""


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
