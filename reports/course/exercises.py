"""Exercises of the lessons, each with the parameters of one student, and their answers by simulation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import lsmlab
from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.reports.course.expressions import evaluate, filled
from lsmlab.sim.yaml_text import read_yaml

_FILE: Final = Path(__file__).with_name("exercises.yaml")
EXAMPLE: Final = "Ada Lovelace"
"""Student whose parameters the pages show."""
_SEEDS: Final = 10_000


@dataclass(frozen=True)
class ExerciseTask:
    """One question of an exercise."""

    key: str
    text: str
    unit: str
    answer: str
    """Expression over parameters and runs (expressions.py)."""
    tolerance: float
    """Largest relative error of a right number; choices are compared as text."""
    choices: tuple[str, ...]
    solution: str = ""
    """How to find the answer, with placeholders over parameters and runs."""


@dataclass(frozen=True)
class Exercise:
    """Exercise of one lesson: a text and tasks with placeholders, parameters to draw, and runs."""

    lesson: int
    title: str
    text: str
    parameters: Mapping[str, list[Any]]
    runs: Mapping[str, list[str]]
    tasks: tuple[ExerciseTask, ...]


@dataclass(frozen=True)
class Sheet:
    """Exercise of one student."""

    exercise: Exercise
    student: str
    values: dict[str, Any]
    """Parameters as the text shows them (64MiB), seed included; in expressions sizes are bytes."""

    @property
    def text(self) -> str:
        """The text of the exercise with the student's parameters."""
        return filled(self.exercise.text, self.values).strip()

    def commands(self) -> dict[str, list[str]]:
        """Return the overrides of each run by its name."""
        return {name: [filled(part, self.values) for part in run] for name, run in self.exercise.runs.items()}

    def question(self, task: ExerciseTask) -> str:
        """Return the text of a task with its unit, or its choices."""
        ending = f" ({', '.join(task.choices)})" if task.choices else f" ({task.unit})" if task.unit else ""
        return filled(task.text, self.values).strip() + ending


def exercises() -> dict[int, Exercise]:
    """Return all exercises by lesson."""
    return {item["lesson"]: _exercise(item) for item in _definitions()}


def sheet(lesson: int, student: str) -> Sheet:
    """Return the exercise of a lesson for a student.

    Raises InputError if there is no such lesson, or the name has no letters.
    """
    known = exercises()
    if lesson not in known:
        raise InputError(f"{lesson}: no such lesson; there are {min(known)} to {max(known)}")
    name = canonical(student)
    if not name:
        raise InputError(f"{student!r}: a student's name needs a letter or a digit")
    exercise = known[lesson]
    values = {key: several[_number(name, lesson, key) % len(several)] for key, several in exercise.parameters.items()}
    return Sheet(exercise, " ".join(student.split()), {**values, "seed": seed(student)})


def seed(student: str) -> int:
    """Return the seed of a student's runs, from 1 to 10,000; spaces and capitals of the name do not matter.

    >>> seed("Ada  LOVELACE") == seed("ada lovelace")
    True
    """
    return 1 + _number(canonical(student), 0, "seed") % _SEEDS


def right_answers(mine: Sheet) -> dict[str, float | str]:
    """Return the right answer to each task, by simulation of the runs that it names."""
    names = _names(mine)
    answers = {task.key: evaluate(task.answer, names) for task in mine.exercise.tasks}
    return {key: value if isinstance(value, str) else float(value) for key, value in answers.items()}


def solution_markdown(mine: Sheet) -> str:
    """Return the way to each answer of an exercise, with its result, in Markdown."""
    names, answers = _names(mine), right_answers(mine)
    steps = [
        f"{number}. *{mine.question(task)}* {filled(task.solution, names).strip()} **{_answer(answers[task.key])}**"
        for number, task in enumerate(mine.exercise.tasks, start=1)
    ]
    return "\n".join(steps) + "\n"


def exercise(lesson: int, student: str) -> Any:
    """Return the exercise of a lesson for a student as a text that a notebook shows."""
    from lsmlab.reports.course.classroom import Text

    return Text(sheet_markdown(sheet(lesson, student)))


def sheet_markdown(mine: Sheet) -> str:
    """Return an exercise with its commands and questions in Markdown."""
    commands = "\n".join(f"    lsmlab run {' '.join(run)} --out {name}" for name, run in mine.commands().items())
    questions = "\n".join(f"{i}. {mine.question(task)}" for i, task in enumerate(mine.exercise.tasks, start=1))
    runs = f"Runs:\n\n{commands}\n\n" if commands else ""
    return f"**{mine.exercise.title}** ({mine.student})\n\n{mine.text}\n\n{runs}{questions}\n"


def canonical(student: str) -> str:
    """Return a name for comparisons: lower case, single spaces; empty if it has no letter or digit."""
    name = " ".join(student.casefold().split())
    return name if re.search(r"\w", name) else ""


def _answer(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _names(mine: Sheet) -> dict[str, Any]:
    """Return what the expressions of an exercise may use: its parameters, and the summaries of its runs."""
    names: dict[str, Any] = {key: _plain(value) for key, value in mine.values.items()}
    return names | {name: _summary(tuple(overrides)) for name, overrides in mine.commands().items()}


def _number(name: str, lesson: int, key: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{name}\n{lesson}\n{key}".encode()).digest()[:8])


def _plain(value: Any) -> Any:
    """Return a parameter for expressions: a size such as 64MiB in bytes, others unchanged."""
    if not isinstance(value, str) or not value[:1].isdigit():
        return value
    for kind in ("bytes", "bytes_per_s", "seconds"):
        try:
            return parse_quantity(value, kind)
        except InputError:
            continue
    return value


@cache
def _summary(overrides: tuple[str, ...]) -> dict[str, Any]:
    """Simulate once per process and return the summary."""
    return lsmlab.run([*overrides, "save.events=false"], progress=False).summary


@cache
def _definitions() -> list[dict[str, Any]]:
    return list(read_yaml(_FILE))


def _exercise(item: Mapping[str, Any]) -> Exercise:
    tasks = tuple(
        ExerciseTask(task["key"], task["text"], task.get("unit", ""), task["answer"], float(task.get("tolerance", 0.02)),
             tuple(str(choice) for choice in task.get("choices", ())), task.get("solution", ""))
        for task in item["questions"]
    )  # fmt: skip
    return Exercise(item["lesson"], item["title"], item["text"], item.get("parameters", {}), item.get("runs", {}), tasks)
