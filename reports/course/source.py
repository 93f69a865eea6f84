"""Lessons as files: Python in the percent format with a YAML head, as Jupytext and editors read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.yaml_text import parse_yaml

_HEAD: Final = re.compile(r"\A# ---\n(.*?)^# ---\n", re.MULTILINE | re.DOTALL)
_CELL: Final = re.compile(r"^# %%([^\n]*)\n", re.MULTILINE)
_FILE: Final = re.compile(r"(\d+)-[\w-]+\.py")


@dataclass(frozen=True)
class Cell:
    """One cell: Markdown (`text`) or Python."""

    text: bool
    source: str


@dataclass(frozen=True)
class Lesson:
    """One lesson: number and short name come from the file's name, such as 3-levels.py."""

    path: Path
    number: int
    title: str
    aim: str
    invariants: tuple[str, ...]
    """Sentences that hold whatever the options are."""
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """Name of the lesson's page and notebook, such as 3-levels."""
        return self.path.stem


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
    text = path.read_text(encoding="utf-8")
    head = _HEAD.match(text)
    if head is None:
        raise InputError(f"{path}: begin with a head between two lines '# ---': title, aim and invariants")
    facts = parse_yaml(_uncommented(head[1]), path)
    if not isinstance(facts, dict) or not isinstance(facts.get("invariants"), list):
        raise InputError(f"{path}: the head must be YAML with title, aim and a list of invariants")
    missing = [key for key in ("title", "aim") if not isinstance(facts.get(key), str)]
    if missing:
        raise InputError(f"{path}: the head has no {missing[0]}; add a line '# {missing[0]}: …'")
    invariants = tuple(str(item) for item in facts["invariants"])
    return Lesson(path, int(named[1]), facts["title"], facts["aim"], invariants, _cells(text[head.end() :]))


def _cells(text: str) -> tuple[Cell, ...]:
    pieces = _CELL.split(text)[1:]
    cells = (
        Cell(True, _uncommented(body).strip()) if "[markdown]" in mark else Cell(False, body.strip())
        for mark, body in zip(pieces[::2], pieces[1::2], strict=True)
    )
    return tuple(cell for cell in cells if cell.source)


def _uncommented(text: str) -> str:
    """Return the text without the "# " before each line."""
    return re.sub(r"^# ?", "", text, flags=re.MULTILINE)
