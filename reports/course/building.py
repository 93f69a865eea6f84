"""Runs the cells of a lesson, as a notebook does, and returns the parts of its page in order."""

from __future__ import annotations

import ast
import contextlib
import html
import io
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.reports.course.classroom import Asked, Classroom, Revealed, Text, formula
from lsmlab.reports.course.expressions import filled
from lsmlab.reports.course.guesses import Answer, Question, answer_figure
from lsmlab.reports.course.markup import to_html
from lsmlab.reports.course.pictures import Shown, bars, figure, lines, stacked, tree
from lsmlab.reports.course.source import Lesson
from lsmlab.reports.course.spans import memtables, rewrites
from lsmlab.reports.figures.base import Figure

MODULE = "lsmlab.course"
"""Name under which lessons import the functions of the classroom."""


@dataclass(frozen=True)
class Part:
    """One part of a page: HTML, code, a figure, a question, or an answer."""

    html: str = ""
    code: str = ""
    figure: Figure | None = None
    question: Question | None = None
    answer: Answer | None = None


def run_lesson(lesson: Lesson) -> list[Part]:
    """Run all cells of a lesson and return the parts of its page.

    Raises InputError, which names the lesson, if a cell fails.
    """
    names: dict[str, Any] = {"__name__": lesson.name}
    parts: list[Part] = []
    with _classroom():
        for number, cell in enumerate(lesson.cells, start=1):
            try:
                if cell.text:
                    parts.append(Part(html=to_html(filled(cell.source, names))))
                else:
                    parts += _run(cell.source, names)
            except Exception as error:
                raise InputError(f"{lesson.path}: cell {number}: {type(error).__name__}: {error}") from error
    return [_with_id(part, f"figure-{number}") for number, part in enumerate(parts)]


@contextlib.contextmanager
def _classroom() -> Iterator[None]:
    """Let `from lsmlab import course` give a new classroom, in which no guesses are needed."""
    room = Classroom(needs_guesses=False)
    module = types.ModuleType(MODULE)
    module.__dict__.update({f.__name__: f for f in (bars, figure, formula, lines, memtables, rewrites, stacked, tree)})
    module.__dict__.update(predict=room.predict, reveal=room.reveal, explain=room.explain)
    package = vars(sys.modules["lsmlab"])
    before = sys.modules.get(MODULE), package.get("course")
    sys.modules[MODULE] = package["course"] = module
    try:
        yield
    finally:
        _restore(sys.modules, MODULE, before[0])
        _restore(package, "course", before[1])


def _restore(place: dict[str, Any], name: str, value: Any) -> None:
    place.pop(name)
    if value is not None:
        place[name] = value


def _run(source: str, names: dict[str, Any]) -> list[Part]:
    """Run one code cell; return its code and what it prints and shows."""
    body = ast.parse(source)
    ending = body.body[-1] if body.body else None
    last = ending.value if isinstance(ending, ast.Expr) else None
    if last is not None:
        body.body.pop()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(body, "lesson", "exec"), names)  # lessons are programs of the course's author
        value = None if last is None else eval(compile(ast.Expression(last), "lesson", "eval"), names)
    if isinstance(value, Asked):
        return [Part(question=value.question)]
    output = [Part(html=f"<pre>{html.escape(printed.getvalue())}</pre>")] if printed.getvalue() else []
    return [Part(code=source), *output, *([] if value is None else [_shown(value)])]


def _shown(value: Any) -> Part:
    match value:
        case Revealed():
            return Part(answer=value.answer, figure=answer_figure(value.answer))
        case Shown():
            return Part(figure=value.figure)
        case Text():
            return Part(html=to_html(value.markdown))
    if hasattr(value, "_repr_html_"):
        return Part(html=f'<div class="scroll">{value._repr_html_()}</div>')
    return Part(html=f"<pre>{html.escape(str(value))}</pre>")


def _with_id(part: Part, name: str) -> Part:
    return part if part.figure is None else replace(part, figure=replace(part.figure, id=name))
