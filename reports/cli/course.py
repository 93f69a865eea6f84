"""Command `lsmlab course`: list the lessons, write exercise sheets, grade answers, build the site."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import LineParser


def course(argv: list[str]) -> int:
    """Run one of the commands of `lsmlab course`.

    Returns 0. Raises InputError for bad input.
    """
    arguments = _parser().parse_args(argv)
    if arguments.command is None:
        raise InputError("course: name a command: list, exercise, grade, real or build; lsmlab course --help explains them")
    return {"list": _list, "exercise": _exercise, "grade": _grade, "real": _real, "build": _build}[arguments.command](arguments)


def _parser() -> argparse.ArgumentParser:
    parser = LineParser(prog="lsmlab course", description="A course of nine lessons on LSM-trees: docs/how-to/teach.md.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=LineParser)
    commands.add_parser("list", help="list the lessons")
    exercise = commands.add_parser("exercise", help="write the exercise sheet of a student")
    exercise.add_argument("lesson", type=int, metavar="N", help="number of the lesson")
    exercise.add_argument("--student", required=True, metavar="NAME", help="name, from which the parameters follow")
    exercise.add_argument("--out", type=Path, metavar="FILE", help="path of the sheet (default: lesson-N-NAME.yaml)")
    grade = commands.add_parser("grade", help="grade answers by simulation")
    grade.add_argument("answers", type=Path, nargs="+", metavar="ANSWERS", help="filled-in sheets")
    grade.add_argument("--key", action="store_true", help="show the right answers and tolerances too")
    grade.add_argument("--json", action="store_true", help="print one JSON document")
    grade.add_argument("--csv", action="store_true", help="print CSV")
    real = commands.add_parser("real", help="run a lesson's store in RocksDB on this machine, beside the simulation")
    real.add_argument("lesson", type=int, metavar="N", help="number of the lesson")
    page = Path("real.html")
    real.add_argument("--out", type=Path, metavar="FILE", default=page, help=f"path of the page (default: {page})")
    real.add_argument(
        "--machine", type=Path, metavar="FILE", default=None, help="simulate this machine: a file of 'lsmlab measure'"
    )
    build = commands.add_parser("build", help="build the pages and notebooks from a folder of lessons")
    build.add_argument("folder", type=Path, metavar="DIR", help="folder of lessons, such as docs/course")
    out = Path("build/course")
    build.add_argument("--out", type=Path, metavar="DIR", default=out, help=f"folder of the site (default: {out})")
    return parser


def _list(_arguments: argparse.Namespace) -> int:
    from lsmlab.reports.course.exercises import exercises

    for lesson, exercise in exercises().items():
        sys.stdout.write(f"{lesson}  {exercise.title}\n")
    return 0


def _exercise(arguments: argparse.Namespace) -> int:
    from lsmlab.reports.course.exercises import sheet
    from lsmlab.reports.course.grading import sheet_name, sheet_text

    mine = sheet(arguments.lesson, arguments.student)
    path = arguments.out or Path(sheet_name(mine))
    if path.exists():
        raise InputError(f"{path}: exists already; move it away, or choose another file with --out")
    try:
        path.write_text(sheet_text(mine), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another file with --out") from None
    sys.stdout.write(f"Sheet: {path}\n")
    return 0


def _grade(arguments: argparse.Namespace) -> int:
    from lsmlab.reports.course.grading import as_csv, as_records, as_table, grade, read_answers

    sheets = [read_answers(path) for path in arguments.answers]
    grades = [one for answers in sheets for one in grade(answers)]
    if arguments.json:
        sys.stdout.write(json.dumps(as_records(grades, key=arguments.key), indent=2) + "\n")
    else:
        sys.stdout.write((as_csv if arguments.csv else as_table)(grades, key=arguments.key))
    return 0


def _real(arguments: argparse.Namespace) -> int:
    from lsmlab.reports.course.real import write_real

    sys.stdout.write(f"Page: {write_real(arguments.lesson, arguments.out, arguments.machine)}\n")
    return 0


def _build(arguments: argparse.Namespace) -> int:
    from lsmlab.reports.course.notebooks import read_lessons
    from lsmlab.reports.course.site import write_site

    path = write_site(read_lessons(arguments.folder), arguments.out, lambda title: sys.stderr.write(f"{title} …\n"))
    sys.stdout.write(f"Open {path} in a browser.\n")
    return 0
