"""Answers of students: their files, written as a sheet to fill in, and their grades by simulation from the student's name."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.reports.course.exercises import ExerciseTask, Sheet, right_answers, sheet, sheet_markdown
from lsmlab.sim.results.comparison_text import in_columns
from lsmlab.sim.results.csvtext import write_csv
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


@dataclass(frozen=True)
class Grade:
    """Verdict on one answer."""

    student: str
    lesson: int
    question: str
    given: float | str | None
    right: float | str
    tolerance: float | None
    """Largest relative error; None for choices."""
    verdict: str
    """right, wrong, or missing."""


def grade(answers: Answers) -> list[Grade]:
    """Return the verdict on each answer of a student."""
    right = right_answers(answers.sheet)
    return [
        Grade(answers.sheet.student, answers.sheet.exercise.lesson, task.key, answers.given[task.key], right[task.key],
              None if task.choices else task.tolerance, verdict(task, answers.given[task.key], right[task.key]))
        for task in answers.sheet.exercise.tasks
    ]  # fmt: skip


def verdict(task: ExerciseTask, given: float | str | None, right: float | str) -> str:
    """Return right, wrong or missing; a number is right within the tolerance of its task.

    >>> verdict(ExerciseTask("w", "", "", "", 0.02, ()), 33.5, 33.0)
    'right'
    """
    if given is None:
        return "missing"
    if isinstance(given, str) or isinstance(right, str):
        return "right" if given == right else "wrong"
    return "right" if math.isclose(given, right, rel_tol=task.tolerance, abs_tol=1e-12) else "wrong"


def as_table(grades: Sequence[Grade], *, key: bool) -> str:
    """Return a table of verdicts; the right answers stand in it if `key`."""
    head = ["student", "lesson", "question", "answer", *(["right answer", "tolerance"] if key else []), "verdict"]
    rows = [
        [g.student, str(g.lesson), g.question, _text(g.given),
         *([_text(g.right), "" if g.tolerance is None else f"{g.tolerance:.0%}"] if key else []), g.verdict]
        for g in grades
    ]  # fmt: skip
    right = sum(g.verdict == "right" for g in grades)
    return "\n".join([*in_columns([head, *rows], range(len(head))), "", f"{right} of {len(grades)} right"]) + "\n"


def as_records(grades: Sequence[Grade], *, key: bool) -> list[dict[str, object]]:
    """Return the verdicts as dictionaries, without the right answers unless `key`."""
    hidden = () if key else ("right", "tolerance")
    return [{name: value for name, value in asdict(g).items() if name not in hidden} for g in grades]


def as_csv(grades: Sequence[Grade], *, key: bool) -> str:
    """Return the verdicts as CSV with a head."""
    records = as_records(grades, key=key)
    text = io.StringIO()
    write_csv(text, list(records[0]) if records else [], records)
    return text.getvalue()


def _text(value: float | str | None) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.6g}"
