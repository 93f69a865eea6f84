"""The course as a folder of pages that open without a network, with one Plotly bundle for all; nbconvert writes the HTML."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.reports.course.classroom import ANSWER, QUESTION
from lsmlab.reports.course.exercises import EXAMPLE, exercises, sheet, sheet_markdown, solution_markdown
from lsmlab.reports.course.notebooks import GLOSSARY, HIDDEN, Lesson, needed, run_lessons, write_notebook
from lsmlab.reports.course.pictures import FIGURE
from lsmlab.reports.course.real import stores
from lsmlab.reports.course.references import glossary
from lsmlab.reports.explorer.packing import compressed
from lsmlab.reports.page import plotly_script, write_page
from lsmlab.sim.results.rundir import make_directory

_HERE: Final = Path(__file__).parent


def write_site(lessons: Sequence[Lesson], folder: Path, report: Callable[[str], object]) -> Path:
    """Write pages and notebooks of all lessons and return the path of the first page; `report` hears each step.

    Raises InputError if a lesson fails or the folder cannot be written.
    """
    make_directory(folder / "notebooks")
    write_page(folder / "plotly.min.js", plotly_script())
    report(f"Running {len(lessons)} lessons")
    shown = [lesson.for_page() for lesson in lessons]
    for i, notebook in enumerate(run_lessons(shown)):
        report(lessons[i].title)
        around = (lessons[i - 1] if i else None, lessons[i + 1] if i + 1 < len(lessons) else None)
        write_page(folder / f"{lessons[i].name}.html", lesson_page(shown[i], notebook, *around))
        write_notebook(lessons[i], folder / "notebooks" / f"{lessons[i].name}.ipynb")
    terms = _exporter().environment.get_template("glossary.html.j2")
    write_page(folder / GLOSSARY, terms.render(terms=glossary(), **_page("Glossary", "LSMLab course")))
    contents = _exporter().environment.get_template("contents.html.j2")
    frame = _page("LSM-trees and their stalls", "LSMLab course")
    return write_page(folder / "index.html", contents.render(lessons=lessons, **frame))


def lesson_page(lesson: Lesson, notebook: Any, before: Lesson | None = None, after: Lesson | None = None) -> str:
    """Return the page of a lesson, prepared by `Lesson.for_page`; `notebook`: its cells with outputs.

    What follows a question is compressed until the student has guessed.
    """
    opened, questions = split(notebook.cells)
    about = {
        "lesson": lesson, "opened": opened, "questions": questions, "before": before, "after": after, "EXAMPLE": EXAMPLE,
        "store": stores().get(lesson.number), "figures_of": _figures, "ANSWER": ANSWER, "FIGURE": FIGURE, "HIDDEN": HIDDEN,
        **_exercise(lesson), "notes": list(lesson.notes.values()), "GLOSSARY": GLOSSARY,
        **_page(f"{lesson.number}. {lesson.title}", "LSMLab course. Predict first, then look.", _figures(opened)),
    }  # fmt: skip
    page, _ = _exporter(about).from_notebook_node(notebook)
    return str(page)


def _exercise(lesson: Lesson) -> dict[str, str]:
    """Return the example of a lesson's exercise and its solution; empty texts if the lesson has none."""
    if lesson.number not in exercises():
        return {"exercise": "", "solution": ""}
    mine = sheet(lesson.number, EXAMPLE)
    return {"exercise": sheet_markdown(mine), "solution": solution_markdown(mine)}


def split(cells: Sequence[Any]) -> tuple[list[Any], list[tuple[dict[str, Any], list[Any]]]]:
    """Return the cells before the first question, and each question with the cells that it hides."""
    opened: list[Any] = []
    questions: list[tuple[dict[str, Any], list[Any]]] = []
    for cell in cells:
        asked = [out.data[QUESTION] for out in cell.get("outputs", ()) if QUESTION in out.get("data", {})]
        if asked:
            questions.append((asked[0], []))
        else:
            (questions[-1][1] if questions else opened).append(cell)
    return opened, questions


def _figures(cells: Sequence[Any]) -> list[dict[str, Any]]:
    """Return what the page's script draws for the figures of these cells."""
    shown = (out.data for cell in cells for out in cell.get("outputs", ()) if FIGURE in out.get("data", {}))
    return [data[FIGURE] for data in shown]


def _page(title: str, subtitle: str, figures: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Return the values of the frame that all pages have."""
    look = [(_HERE.parent / "page.css"), _HERE / "lesson.css"]
    return {
        "title": title, "subtitle": subtitle, "css": "".join(path.read_text(encoding="utf-8") for path in look),
        "script": (_HERE.parent / "page.js").read_text(encoding="utf-8"), "figures": _json(figures).replace("<", "\\u003c"),
        "lesson_script": (_HERE / "lesson.js").read_text(encoding="utf-8"),
    }  # fmt: skip


def _json(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def _exporter(about: dict[str, Any] | None = None) -> Any:
    """Return nbconvert's exporter with the template of a lesson and the values that it uses."""
    exporter = needed("nbconvert").HTMLExporter(
        extra_template_basedirs=[str(_HERE)], template_name="template", exclude_anchor_links=True,
    )  # fmt: skip
    exporter.register_filter("sealed", lambda text: compressed(text.encode()))
    exporter.register_filter("json_text", _json)
    exporter.environment.globals.update(about or {})
    return exporter
