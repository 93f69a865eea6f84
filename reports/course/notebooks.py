"""Lessons as Jupyter notebooks: without outputs, so that a notebook holds no answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.reports.course.expressions import PLACEHOLDER
from lsmlab.reports.course.source import Cell, Lesson
from lsmlab.reports.page import write_page


def write_notebook(lesson: Lesson, path: Path) -> Path:
    """Write a lesson as a notebook; return its path. Raises InputError if the package nbformat is missing."""
    try:
        from nbformat import v4, writes
    except ImportError:
        raise InputError("course: the package nbformat is missing; install it with: pip install 'lsmlab[course]'") from None
    invariants = "\n".join(f"- {text}" for text in lesson.invariants)
    head = f"# {lesson.number}. {lesson.title}\n\n**Aim.** {lesson.aim}\n\n**What always holds**\n\n{invariants}"
    exercise = f'course.exercise({lesson.number}, "Your Name")'
    sources = [Cell(True, head), *lesson.cells, Cell(True, "## Exercise"), Cell(False, exercise)]
    cells = [_cell(v4, cell) for cell in sources]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # the same lesson gives the same bytes
    return write_page(path, writes(v4.new_notebook(cells=cells, metadata={"kernelspec": _KERNEL})) + "\n")


_KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def _cell(v4: Any, cell: Cell) -> Any:
    """Return a notebook cell; a text with values becomes code, which fills in those of the student's own runs."""
    if not cell.text:
        return v4.new_code_cell(cell.source)
    if PLACEHOLDER.search(cell.source):
        return v4.new_code_cell(f'course.explain(r"""{cell.source}""", globals())')
    return v4.new_markdown_cell(cell.source)
