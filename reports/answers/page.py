"""HTML of the five answers at the top of a run's page."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

from lsmlab.reports.answers.chain import beside_the_chain, chain_graphic
from lsmlab.reports.answers.confidence import confidence
from lsmlab.reports.answers.stopped import (
    bottleneck_parts,
    causes,
    closed_loop_sentence,
    how_long,
    queued,
    what_stopped,
    why_queued,
)
from lsmlab.reports.answers.what_helps import first_tries, one_at_a_time, what_helps
from lsmlab.reports.parts import Html
from lsmlab.reports.run_data import RunData
from lsmlab.sim.explain.bottleneck import Bottleneck


def answers(run: RunData) -> Html:
    """Return the section with the five answers."""
    headline, sentences = how_long(run)
    hidden = closed_loop_sentence(run)
    parts = [
        _answer("what", "What stopped the store?", *what_stopped(run), _bar(run)),
        _answer("long", "For how long?", headline, [*sentences, *([hidden] if hidden else [])]),
        _why(run),
        _helps(run),
        _answer("sure", "How sure is that?", *confidence(run)),
    ]
    return Html(f'<section id="answers" aria-label="Answers"><div class="answers">{"".join(parts)}</div></section>')


def _why(run: RunData) -> str:
    """Return the answer with the bottleneck, and the chain of the costliest group of stalls."""
    found, groups = run.summary.get("bottleneck") or {}, run.summary.get("episodes")
    if (queue := queued(run)) is not None:
        return _answer("why", "Why?", *why_queued(run, queue))
    if not groups:
        return _answer("why", "Why?", "No stall, no reason", ["Flushes and compactions kept up with the clients."])
    head, rest = bottleneck_parts(found.get("text") or "")
    if found.get("resource") == "unknown" or not rest:
        head, rest = "Bottleneck unknown", "The use of device and cores is not known."
    sentences = [_sentence(rest, run), *_doubts(run), *(f"Reason of the failure: {error}." for error, _ in _errors(run))]
    sentences += [text] if (text := beside_the_chain(run, groups[0])) else []
    show = '<button type="button" class="show" data-stall-group="0">Show this stall in the explorer</button>'
    return _answer("why", "Why?", head, sentences, chain_graphic(groups[0]) + show)


def _doubts(run: RunData) -> list[str]:
    """Return a doubt about the slots as the bottleneck, if the jobs behind the stalls hardly waited for one."""
    if not one_at_a_time(run):
        return []
    return ["For most of their time they did not wait for a slot: L0 has one compaction at a time, so more slots may not help."]


_ERRORS: Final = {
    "no_space": ("the device was full", "Keep more space free than the largest flush or compaction writes."),
    "io_error": ("an I/O error", "RocksDB goes on by itself only after errors that it may retry."),
}
"""Reason of a failed job in words, and what helps against it."""


def _errors(run: RunData) -> list[tuple[str, str]]:
    """Return why jobs failed and what helps, if a background error was the bottleneck."""
    if (run.summary.get("bottleneck") or {}).get("resource") != Bottleneck.ERROR or "reason" not in run.jobs:
        return []
    return [_ERRORS[reason] for reason in dict.fromkeys(run.jobs["reason"]) if reason in _ERRORS]


def _helps(run: RunData) -> str:
    """Return the answer on what would help."""
    if errors := _errors(run):
        return _answer("helps", "What would help?", "Remove the cause of the failure", [remedy for _, remedy in errors])
    calm = not run.summary.get("episodes") and queued(run) is None
    return _answer("helps", "What would help?", "", [], what_helps(run, first_tries(run), calm=calm))


def _sentence(text: str, run: RunData) -> str:
    """Return a text as a sentence: with a capital, unless it begins with the name of the device, and a full stop."""
    name = str((run.summary.get("device") or {}).get("name") or "the device")
    return f"{text if text.startswith(name) else text[:1].upper() + text[1:]}{'' if text.endswith('.') else '.'}"


def _bar(run: RunData) -> str:
    """Return a bar with the shares of the causes; each share is also a line of text."""
    found = causes(run)
    if not found:
        return ""
    parts = "".join(f'<i style="width:{100 * cause.share:.2f}%;background:{cause.color}"></i>' for cause in found)
    lines = "".join(
        f'<li><i style="background:{cause.color}"></i>{html.escape(cause.text)}</li>' for cause in found[:4]
    )
    return f'<div class="shares" aria-hidden="true">{parts}</div><ul class="legend">{lines}</ul>'


def _answer(name: str, question: str, headline: str, sentences: Iterable[str], more: str = "") -> str:
    """Return an answer; text between backquotes is code."""
    lines = "".join(f"<p>{_code(sentence)}</p>" for sentence in sentences)
    big = f'<p class="big">{html.escape(headline)}</p>' if headline else ""
    return f'<div class="answer" id="answer-{name}"><h2>{html.escape(question)}</h2>{big}{lines}{more}</div>'


def _code(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
