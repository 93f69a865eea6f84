"""The answer key: right answers by simulation from a student's name, compared with those of the file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from lsmlab.reports.course.answers import Answers
from lsmlab.reports.course.exercises import ExerciseTask, right_answers


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
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]]
    right = sum(g.verdict == "right" for g in grades)
    return "\n".join([*lines, "", f"{right} of {len(grades)} right"]) + "\n"


def as_records(grades: Sequence[Grade], *, key: bool) -> list[dict[str, object]]:
    """Return the verdicts as dictionaries, without the right answers unless `key`."""
    hidden = () if key else ("right", "tolerance")
    return [{name: value for name, value in asdict(g).items() if name not in hidden} for g in grades]


def as_csv(grades: Sequence[Grade], *, key: bool) -> str:
    """Return the verdicts as CSV with a head."""
    records = as_records(grades, key=key)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def _text(value: float | str | None) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.6g}"
