"""The course as a folder of pages that open without a network, with one Plotly bundle for all."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsmlab.reports.course.building import Part, run_lesson
from lsmlab.reports.course.exercises import exercise_html
from lsmlab.reports.course.guesses import Question
from lsmlab.reports.course.notebooks import write_notebook
from lsmlab.reports.course.source import Lesson
from lsmlab.reports.course.stores import STORES
from lsmlab.reports.explorer.packing import compressed
from lsmlab.reports.figures.base import Figure, figures_json
from lsmlab.reports.page import plotly_script, write_page
from lsmlab.sim.results.rundir import make_directory

_HERE: Final = Path(__file__).parent
_BUNDLE: Final = "plotly.min.js"


@dataclass(frozen=True)
class Neighbours:
    """Links of a lesson's page."""

    before: Lesson | None
    after: Lesson | None


def write_site(lessons: Sequence[Lesson], folder: Path, report: Callable[[str], object]) -> Path:
    """Write pages and notebooks of all lessons and return the path of the first page; `report` hears each lesson's title.

    Raises InputError if a lesson fails or the folder cannot be written.
    """
    make_directory(folder / "notebooks")
    write_page(folder / _BUNDLE, plotly_script())
    for i, lesson in enumerate(lessons):
        report(lesson.title)
        near = Neighbours(lessons[i - 1] if i else None, lessons[i + 1] if i + 1 < len(lessons) else None)
        write_page(folder / f"{lesson.name}.html", lesson_page(lesson, run_lesson(lesson), near))
        write_notebook(lesson, folder / "notebooks" / f"{lesson.name}.ipynb")
    return write_page(folder / "index.html", _index(lessons))


def lesson_page(lesson: Lesson, parts: Sequence[Part], near: Neighbours) -> str:
    """Return the page of a lesson. What follows a question is compressed until the student has guessed."""
    opened, sealed = split(parts)
    invariants = "".join(f"<li>{html.escape(text)}</li>" for text in lesson.invariants)
    body = (
        f'<div class="story"><p><b>Aim.</b> {html.escape(lesson.aim)}</p></div>'
        f"<section><h2>What always holds</h2><ul>{invariants}</ul></section>"
        f"{_section(opened)}"
        + "".join(_question(question, hidden) for question, hidden in sealed)
        + f"{exercise_html(lesson.number)}{_real(lesson)}{_links(lesson, near)}"
    )
    title = f"{lesson.number}. {lesson.title}"
    return _page(title, "LSMLab course. Predict first, then look.", body, _figures(opened))


def split(parts: Sequence[Part]) -> tuple[list[Part], list[tuple[Question, list[Part]]]]:
    """Return the parts before the first question, and each question with the parts that it hides."""
    opened: list[Part] = []
    sealed: list[tuple[Question, list[Part]]] = []
    for part in parts:
        if part.question is not None:
            sealed.append((part.question, []))
        else:
            (sealed[-1][1] if sealed else opened).append(part)
    return opened, sealed


def _section(parts: Iterable[Part]) -> str:
    content = "".join(_part(part) for part in parts)
    return f"<section>{content}</section>" if content else ""


def _part(part: Part) -> str:
    if part.code:
        return f"<details><summary>Code</summary><pre>{html.escape(part.code)}</pre></details>"
    shown = ""
    if part.answer is not None:
        shown = f'<p class="verdict" data-key="{part.answer.question.key}">Simulated: <b>{html.escape(part.answer.shown)}</b></p>'
    if part.figure is not None and part.figure.traces:
        figure = part.figure
        label = html.escape(f"{figure.title}. {figure.caption}")
        shown += (
            f'<h3>{html.escape(figure.title)}</h3><div class="figure" id="{figure.id}" tabindex="0" role="group" '
            f'aria-label="{label}" style="min-height:{figure.height_px}px"></div>'
            f'<p class="caption">{html.escape(figure.caption)}</p>'
        )
    return shown + part.html


def _question(question: Question, hidden: Sequence[Part]) -> str:
    """Return the form of a question, and what it hides as compressed text."""
    payload = json.dumps({"html": _section(hidden), "figures": [f.as_json() for f in _figures(hidden)]}, allow_nan=False)
    unit = f' <span class="unit">{html.escape(question.unit)}</span>' if question.unit else ""
    name = f"guess-{question.key}"
    if question.choices:
        fields = "".join(
            f'<label class="choice"><input type="radio" name="{name}" value="{letter}" required> '
            f"{letter}) {html.escape(text)}</label>"
            for letter, text in question.choices.items()
        )
    elif question.points:
        fields = "".join(
            f'<label>{html.escape(question.axis)} = {point:,g}: '
            f'<input type="number" step="any" name="{name}" required>{unit}</label> '
            for point in question.points
        )
    else:
        fields = f'<label>Your guess: <input type="number" step="any" name="{name}" required>{unit}</label>'
    return (
        f'<section class="question"><h2>Predict first</h2><p>{html.escape(question.text)}</p>'
        f'<form data-key="{question.key}">{fields} <button>Show the answer</button></form>'
        f'<script type="application/octet-stream">{compressed(payload.encode())}</script></section>'
        f'<div class="hidden-answer" data-key="{question.key}" aria-live="polite"></div>'
    )


def _real(lesson: Lesson) -> str:
    """Return the section with the store of a lesson for RocksDB; empty for a lesson without one."""
    store = STORES.get(lesson.number)
    if store is None:
        return ""
    command = f"pip install 'lsmlab[real]'\nlsmlab course real {lesson.number} --out real.html"
    return (
        f"<section><h2>In RocksDB on your machine</h2><p>{html.escape(store.about)}</p><p>These commands record it in 20 s, "
        f"without root, and draw it over the simulation:</p><pre>{html.escape(command)}</pre></section>"
    )


def _links(lesson: Lesson, near: Neighbours) -> str:
    before = f"<span>← {_link(near.before)}</span>" if near.before else ""
    after = f"<span>{_link(near.after)} →</span>" if near.after else ""
    middle = f'<a href="index.html">All lessons</a> <a href="notebooks/{lesson.name}.ipynb" download>Notebook</a>'
    return f'<nav class="lessons" aria-label="Lessons">{before} {middle} {after}</nav>'


def _link(lesson: Lesson) -> str:
    return f'<a href="{lesson.name}.html">{lesson.number}. {html.escape(lesson.title)}</a>'


def _index(lessons: Sequence[Lesson]) -> str:
    items = "".join(
        f'<section><h2><a href="{lesson.name}.html">{lesson.number}. {html.escape(lesson.title)}</a></h2>'
        f"<p>{html.escape(lesson.aim)}</p></section>"
        for lesson in lessons
    )
    lead = (
        '<div class="story"><p>Each lesson takes half an hour. You read the question, make a guess, and then see the guess '
        "beside the simulation. All numbers were simulated when these pages were built.</p></div>"
    )
    return _page("LSM-trees and their stalls", "LSMLab course", lead + items, [])


def _figures(parts: Iterable[Part]) -> list[Figure]:
    return [part.figure for part in parts if part.figure is not None and part.figure.traces]


def _page(title: str, subtitle: str, body: str, figures: Sequence[Figure]) -> str:
    look = (_HERE.parent / "page.css").read_text(encoding="utf-8")
    parts = {
        "title": html.escape(title), "subtitle": html.escape(subtitle), "body": body, "bundle": _BUNDLE,
        "css": look + (_HERE / "lesson.css").read_text(encoding="utf-8"),
        "figures": figures_json(figures),
        "nothing": compressed(b""),
        "script": (_HERE.parent / "page.js").read_text(encoding="utf-8"),
        "lesson": (_HERE / "lesson.js").read_text(encoding="utf-8"),
    }  # fmt: skip
    template = (_HERE / "lesson.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)
