"""Lessons as files: Python in the percent format with a YAML head, read by Jupytext."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError

_FILE: Final = re.compile(r"(\d+)-[\w-]+\.py")
_FORMAT: Final = {"extension": ".py", "format_name": "percent", "root_level_metadata_as_raw_cell": False}


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

    @property
    def name(self) -> str:
        """Name of the lesson's page and notebook, such as 3-levels."""
        return self.path.stem


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
    return Lesson(path, int(named[1]), facts["title"], facts["aim"], invariants, tuple(notebook.cells))
