"""Lessons as Jupyter notebooks: those of students without outputs, and run for the pages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.course.expressions import PLACEHOLDER
from lsmlab.reports.course.pictures import FIGURE
from lsmlab.reports.course.source import Lesson, needed
from lsmlab.reports.page import write_page

HIDDEN: Final = "remove_input"
"""Tag of cells whose code is not on the page."""
_KERNEL: Final = {"name": "python3", "display_name": "Python 3", "language": "python"}
_LONGEST_S: Final = 1800
"""Longest time of a cell."""
_BUILD: Final = "from lsmlab.reports.course.classroom import build\nbuild()"
"""Code before a lesson whose page is built: no guesses are needed."""


def write_notebook(lesson: Lesson, path: Path) -> Path:
    """Write the notebook of a lesson, without outputs, so that it holds no answers; return its path."""
    v4 = needed("nbformat").v4
    invariants = "\n".join(f"- {text}" for text in lesson.invariants)
    head = f"# {lesson.number}. {lesson.title}\n\n**Aim.** {lesson.aim}\n\n**What always holds**\n\n{invariants}"
    exercise = f'course.exercise({lesson.number}, "Your Name")'
    ending = [v4.new_markdown_cell("## Exercise"), v4.new_code_cell(exercise)]
    return write_page(path, v4.writes(_notebook([v4.new_markdown_cell(head), *_cells(lesson), *ending])) + "\n")


def run_lesson(lesson: Lesson) -> Any:
    """Run the cells of a lesson in a kernel and return them as a notebook with outputs; its figures have ids.

    Raises InputError, which names the lesson and the cell, if a cell fails.
    """
    client = needed("nbclient")
    notebook = _notebook([needed("nbformat").v4.new_code_cell(_BUILD), *_cells(lesson)])
    needed("ipykernel")
    try:
        client.NotebookClient(notebook, timeout=_LONGEST_S, kernel_name=_KERNEL["name"], config=_settings()).execute()
    except client.exceptions.CellExecutionError as error:
        number = max(i for i, cell in enumerate(notebook.cells) if cell.get("outputs"))
        raise InputError(f"{lesson.path}: cell {number}: {error.ename}: {error.evalue}") from error
    del notebook.cells[0]
    outputs = (out for cell in notebook.cells for out in cell.get("outputs", ()))
    for number, out in enumerate(out for out in outputs if FIGURE in out.get("data", {})):
        out.data[FIGURE]["id"] = f"figure-{number}"
    return notebook


def _settings() -> Any:
    """Return the settings of the kernel: a socket that only this user can open, where the system has such sockets."""
    return needed("traitlets.config").Config({"KernelManager": {"transport": "ipc" if os.name == "posix" else "tcp"}})


def _notebook(cells: Sequence[Any]) -> Any:
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # the same lesson gives the same bytes
    return needed("nbformat").v4.new_notebook(cells=list(cells), metadata={"kernelspec": _KERNEL})


def _cells(lesson: Lesson) -> list[Any]:
    """Return the cells; a text with values becomes code, which fills in those of the runs in the notebook."""
    v4 = needed("nbformat").v4
    return [
        v4.new_code_cell(f'course.explain(r"""{cell.source}""", globals())', metadata={"tags": [HIDDEN]})
        if cell.cell_type == "markdown" and PLACEHOLDER.search(cell.source)
        else v4.new_markdown_cell(cell.source) if cell.cell_type == "markdown" else v4.new_code_cell(cell.source)
        for cell in lesson.cells
    ]
