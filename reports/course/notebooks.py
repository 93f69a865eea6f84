"""Lessons: files of Python in the percent format with a YAML head, and the notebooks made of them.

Jupytext reads the files. A student's notebook has no outputs; that of a page is run.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.course.expressions import PLACEHOLDER
from lsmlab.reports.course.pictures import FIGURE
from lsmlab.reports.course.references import linker, marked, ordered_notes
from lsmlab.reports.page import write_page

_FILE: Final = re.compile(r"(\d+)-[\w-]+\.py")
_FORMAT: Final = {"extension": ".py", "format_name": "percent", "root_level_metadata_as_raw_cell": False}
HIDDEN: Final = "remove_input"
"""Tag of cells whose code is not on the page."""
_KERNEL: Final = {"name": "python3", "display_name": "Python 3", "language": "python"}
GLOSSARY: Final = "glossary.html"
"""Page of the glossary, beside the lessons."""
_KERNELS: Final = 2
"""Number of lessons that run at a time."""
_LONGEST_S: Final = 1800
"""Longest time of a cell."""
_BUILD: Final = "from lsmlab.reports.course.classroom import build\nbuild()"
"""Code before a lesson whose page is built: no guesses are needed."""


@dataclass(frozen=True)
class Lesson:
    """One lesson: number and short name come from the file's name, such as 3-levels.py."""

    path: Path
    number: int
    title: str
    aim: str
    invariants: tuple[str, ...]
    """Sentences that hold whatever the options are."""
    cells: tuple[Any, ...]
    """Cells of the notebook (nbformat), Markdown and code."""
    notes: Mapping[str, str]
    """Footnotes by name, in the order of their first use: the source or the check behind a claim."""

    @property
    def name(self) -> str:
        """Name of the lesson's page and notebook, such as 3-levels."""
        return self.path.stem

    def texts(self) -> list[str]:
        """Return all texts of the lesson in their order on the page."""
        return [self.aim, *self.invariants, *(cell.source for cell in self.cells if cell.cell_type == "markdown")]

    def changed(self, change: Callable[[str], str]) -> Lesson:
        """Return the lesson with each of its texts changed, one after the other."""
        aim, invariants = change(self.aim), tuple(change(text) for text in self.invariants)
        cells = [
            type(cell)({**cell, "source": change(cell.source)}) if cell.cell_type == "markdown" else cell for cell in self.cells
        ]
        return replace(self, aim=aim, invariants=invariants, cells=tuple(cells))

    def for_page(self) -> Lesson:
        """Return the lesson with links to its footnotes and, at the first use of each term, to the glossary."""
        mark = '<sup class="mark"><a href="#note-{n}">{n}</a></sup>'
        return self.changed(linker(GLOSSARY)).changed(lambda text: marked(text, list(self.notes), mark))

    def for_notebook(self) -> Lesson:
        """Return the lesson with the numbers of its footnotes in brackets."""
        return self.changed(lambda text: marked(text, list(self.notes), " [{n}]"))


def needed(package: str) -> Any:
    """Import and return a package of the extra `course`. Raises InputError if it is not installed."""
    try:
        return import_module(package)
    except ImportError:
        raise InputError(f"course: the package {package} is missing; install it with: pip install 'lsmlab[course]'") from None


def read_lessons(folder: Path) -> list[Lesson]:
    """Return the lessons of a folder by number. Raises InputError if there is none, or one is damaged."""
    paths = [path for path in folder.glob("*.py") if _FILE.fullmatch(path.name)] if folder.is_dir() else []
    if not paths:
        raise InputError(f"{folder}: no lessons here; name a folder with files such as 1-why-lsm.py")
    return sorted((read_lesson(path) for path in paths), key=lambda lesson: lesson.number)


def read_lesson(path: Path) -> Lesson:
    """Return the lesson in a file. Raises InputError, which names the file and the missing part."""
    named = _FILE.fullmatch(path.name)
    if named is None:
        raise InputError(f"{path}: the name of a lesson is its number and a short name, such as 3-levels.py")
    notebook = needed("jupytext").read(path, fmt=_FORMAT)
    facts = notebook.metadata.get("jupytext", {}).get("root_level_metadata", {})
    if not isinstance(facts.get("invariants"), list):
        raise InputError(f"{path}: begin with a head between two lines '# ---': YAML with title, aim and a list of invariants")
    missing = [key for key in ("title", "aim") if not isinstance(facts.get(key), str)]
    if missing:
        raise InputError(f"{path}: the head has no {missing[0]}; add a line '# {missing[0]}: …'")
    invariants = tuple(str(item) for item in facts["invariants"])
    notes = {str(name): str(text) for name, text in (facts.get("notes") or {}).items()}
    lesson = Lesson(path, int(named[1]), facts["title"], facts["aim"], invariants, tuple(notebook.cells), notes)
    return replace(lesson, notes=ordered_notes(lesson.texts(), notes, path))


def write_notebook(lesson: Lesson, path: Path) -> Path:
    """Write the notebook of a lesson, without outputs, so that it holds no answers; return its path."""
    v4 = needed("nbformat").v4
    shown = lesson.for_notebook()
    invariants = "\n".join(f"- {text}" for text in shown.invariants)
    head = f"# {lesson.number}. {lesson.title}\n\n**Aim.** {shown.aim}\n\n**What always holds**\n\n{invariants}"
    exercise = f'course.exercise({lesson.number}, "Your Name")'
    ending = [v4.new_markdown_cell("## Exercise"), v4.new_code_cell(exercise)]
    if lesson.notes:
        listed = "\n".join(f"{number}. {text}" for number, text in enumerate(lesson.notes.values(), start=1))
        ending.append(v4.new_markdown_cell(f"## Sources and checks\n\n{listed}"))
    return write_page(path, v4.writes(_notebook([v4.new_markdown_cell(head), *_cells(shown), *ending])) + "\n")


def run_lesson(lesson: Lesson) -> Any:
    """Run the cells of a lesson in a kernel and return them as a notebook with outputs; its figures have ids.

    Raises InputError, which names the lesson and the cell, if a cell fails.
    """
    return run_lessons([lesson])[0]


def run_lessons(lessons: Sequence[Lesson]) -> list[Any]:
    """Run lessons, some at a time and each in a kernel of its own, and return their notebooks (run_lesson)."""
    needed("ipykernel")

    async def run_all() -> list[Any]:
        turn = asyncio.Semaphore(_KERNELS)
        return list(await asyncio.gather(*(_run(lesson, turn) for lesson in lessons)))

    return asyncio.run(run_all())


async def _run(lesson: Lesson, turn: asyncio.Semaphore) -> Any:
    client = needed("nbclient")
    notebook = _notebook([needed("nbformat").v4.new_code_cell(_BUILD), *_cells(lesson)])
    try:
        async with turn:
            with TemporaryDirectory(prefix="lsmlab-course-") as place:
                kernel = {"kernel_name": _KERNEL["name"], "config": _settings(place)}
                await client.NotebookClient(notebook, timeout=_LONGEST_S, **kernel).async_execute()
    except client.exceptions.CellExecutionError as error:
        number = max(i for i, cell in enumerate(notebook.cells) if cell.get("outputs"))
        raise InputError(f"{lesson.path}: cell {number}: {error.ename}: {error.evalue}") from error
    del notebook.cells[0]
    outputs = (out for cell in notebook.cells for out in cell.get("outputs", ()))
    for number, out in enumerate(out for out in outputs if FIGURE in out.get("data", {})):
        out.data[FIGURE]["id"] = f"figure-{number}"
    return notebook


def _settings(place: str) -> Any:
    """Return the settings of a kernel: sockets in this folder that only this user can open, where the system has such sockets."""
    sockets = {"transport": "ipc", "ip": str(Path(place) / "kernel")} if os.name == "posix" else {"transport": "tcp"}
    return needed("traitlets.config").Config({"KernelManager": sockets})


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
