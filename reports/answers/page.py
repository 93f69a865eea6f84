"""HTML of the five answers at the top of a run's page."""

from __future__ import annotations

import html
import itertools
from collections.abc import Sequence
from typing import Final, NamedTuple

from lsmlab.reports import numbers
from lsmlab.reports.answers.chain import chain_graphic
from lsmlab.reports.answers.confidence import confidence
from lsmlab.reports.answers.stopped import (
    TIMES_UNKNOWN,
    bottleneck_parts,
    causes,
    closed_loop_sentence,
    failures,
    how_long,
    is_calm,
    queued,
    what_stopped,
    why_queued,
)
from lsmlab.reports.answers.what_helps import first_tries, what_helps
from lsmlab.reports.palette import MOVE, RUNS
from lsmlab.reports.parts import Html, answer_box, answer_boxes, paragraph
from lsmlab.reports.run_data import RunData
from lsmlab.sim.explain.holder_sentences import LEAST_SHARE, parts_of, uses_text
from lsmlab.sim.explain.holder_sentences import Part as HeldPart


def answers(run: RunData) -> Html:
    """Return the section with the five answers."""
    headline, sentences = how_long(run)
    hidden = closed_loop_sentence(run)
    return answer_boxes([
        answer_box("what", "What stopped the store?", *what_stopped(run), _bar(run)),
        answer_box("long", "For how long?", headline, [*sentences, *([hidden] if hidden else [])]),
        _why(run),
        _helps(run),
        answer_box("sure", "How sure is that?", *confidence(run)),
    ])  # fmt: skip


def _why(run: RunData) -> str:
    """Return the answer with the bottleneck, and what held up the costliest group of stalls."""
    found, groups = run.summary.get("bottleneck") or {}, run.summary.get("episodes")
    if (queue := queued(run)) is not None:
        return answer_box("why", "Why?", *why_queued(run, queue))
    if run.stall_times_unknown:
        return answer_box("why", "Why?", "Unknown", [TIMES_UNKNOWN])
    if not groups:
        return answer_box("why", "Why?", "No stall, no reason", ["Flushes and compactions kept up with the clients."])
    head, rest = bottleneck_parts(found.get("text") or "")
    parts = parts_of(run.summary.get("stall_waits_s") or {}, run.summary)
    uses = uses_text(found.get("uses") or {}) if parts else rest
    sentences = [f"Reason of the failure: {error}." for error, _ in failures(run)]
    used = paragraph(_sentence(uses, run)) if uses else ""
    show = '<button type="button" class="show" data-stall-group="0">Show this stall in the explorer</button>'
    costliest = "<p>The costliest group of stalls:</p>" if parts else ""
    graphics = f"{_held_bar(parts)}{used}{costliest}{chain_graphic(groups[0], run.summary)}{show}"
    return answer_box("why", "Why?", head, sentences, graphics)


def _held_bar(parts: Sequence[HeldPart]) -> str:
    """Return a bar that divides the stalled time among what held it up; each part is also a line of text."""
    if not parts:
        return ""
    total = numbers.seconds(sum(part.seconds for part in parts))
    shown = [
        Share(part.share, color, f"{numbers.percent(part.share)} {part.text} ({numbers.seconds(part.seconds)})")
        for part, color in zip(parts, itertools.cycle(RUNS), strict=False)
        if part.share >= LEAST_SHARE
    ]
    if (rest := 1.0 - sum(share.share for share in shown)) > _LEAST_REST:
        shown.append(Share(rest, MOVE, f"{numbers.percent(rest)} other"))
    return f"<p>Of the {html.escape(total)} stalled:</p>{_shares(shown)}"


def _helps(run: RunData) -> str:
    """Return the answer on what would help."""
    if errors := failures(run):
        return answer_box("helps", "What would help?", "Remove the cause of the failure", [remedy for _, remedy in errors])
    return answer_box("helps", "What would help?", "", [], what_helps(run, first_tries(run), calm=is_calm(run)))


def _sentence(text: str, run: RunData) -> str:
    """Return a text as a sentence: with a capital, unless it begins with the name of the device, and a full stop."""
    name = str((run.summary.get("device") or {}).get("name") or "the device")
    return f"{text if text.startswith(name) else text[:1].upper() + text[1:]}{'' if text.endswith('.') else '.'}"


def _bar(run: RunData) -> str:
    """Return a bar with the shares of the causes; each share is also a line of text."""
    return _shares([Share(cause.share, cause.color, cause.text) for cause in causes(run)])


class Share(NamedTuple):
    """Part of a bar."""

    share: float
    color: str
    text: str


def _shares(shares: Sequence[Share]) -> str:
    """Return a bar of shares with a line of text for the first of them."""
    if not shares:
        return ""
    parts = "".join(f'<i style="width:{100 * share.share:.2f}%;background:{share.color}"></i>' for share in shares)
    lines = "".join(f'<li><i style="background:{s.color}"></i>{html.escape(s.text)}</li>' for s in shares[:_MOST_LINES])
    return f'<div class="shares" aria-hidden="true">{parts}</div><ul class="legend">{lines}</ul>'


_MOST_LINES: Final = 6
"""Shares of a bar with a line of text."""
_LEAST_REST: Final = 0.005
"""Share of the stalled time from which the parts that are not named are shown together."""
