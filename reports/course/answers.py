"""Files with the answers of a student: written as a sheet to fill in, and read for grading."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.reports.course.exercises import Sheet, sheet, sheet_markdown
from lsmlab.sim.yaml_text import read_yaml, to_yaml


@dataclass(frozen=True)
class Answers:
    """Content of an answers file."""

    sheet: Sheet
    given: Mapping[str, float | str | None]
    """Answers by key; None: not answered."""


def sheet_text(mine: Sheet) -> str:
    """Return the sheet of a student: the exercise as comments, and a YAML document to fill in."""
    head = "".join(f"# {line}".rstrip() + "\n" for line in sheet_markdown(mine).splitlines())
    lines = [
        head, "# Write your answers behind the colons, as plain numbers or as one of the words in parentheses.",
        f"lesson: {mine.exercise.lesson}", f"student: {to_yaml(mine.student).splitlines()[0]}", "answers:",
    ]  # fmt: skip
    lines += [f"  {task.key}:  # {' '.join(mine.question(task).split())}" for task in mine.exercise.tasks]
    return "\n".join(lines) + "\n"


def sheet_name(mine: Sheet) -> str:
    """Return the file name of a sheet, such as lesson-3-ada-lovelace.yaml."""
    name = re.sub(r"\W+", "-", mine.student.lower()).strip("-")
    return f"lesson-{mine.exercise.lesson}-{name}.yaml"


def read_answers(path: Path) -> Answers:
    """Return the answers in a file. Raises InputError, which names the file, the key and the remedy."""
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: is not an answers file; write one with lsmlab course exercise")
    lesson, student, given = (content.get(key) for key in ("lesson", "student", "answers"))
    if isinstance(lesson, bool) or not isinstance(lesson, int):
        raise InputError(f"{path}: lesson: must be a number; copy this line from the sheet")
    if not isinstance(student, str):
        raise InputError(f"{path}: student: must be a name; copy this line from the sheet")
    try:
        mine = sheet(lesson, student)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if not isinstance(given, dict):
        raise InputError(f"{path}: answers: must be keys with values; copy these lines from the sheet")
    return Answers(mine, _checked(path, mine, given))


def _checked(path: Path, mine: Sheet, given: Mapping[Any, Any]) -> dict[str, float | str | None]:
    tasks = {task.key: task for task in mine.exercise.tasks}
    unknown = [str(key) for key in given if key not in tasks]
    if unknown:
        raise InputError(f"{path}: answers.{unknown[0]}: no such question; there are {', '.join(tasks)}")
    found: dict[str, float | str | None] = {}
    for key, task in tasks.items():
        value = given.get(key)
        if value is None:
            found[key] = None
        elif task.choices:
            word = str(value).strip().lower()
            if word not in task.choices:
                raise InputError(f"{path}: answers.{key}: {value!r}: choose one of {', '.join(task.choices)}")
            found[key] = word
        elif isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            raise InputError(f"{path}: answers.{key}: {value!r}: must be a plain number in {task.unit or 'no unit'}")
        else:
            found[key] = float(value)
    return found
