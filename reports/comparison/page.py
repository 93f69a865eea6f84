"""Comparison page: two to eight runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lsmlab.reports.charts import COMPARED_OVER_TIME, COMPARED_WHOLE, of_runs
from lsmlab.reports.comparison.differences import change_figures, sentences, tables
from lsmlab.reports.comparison.members import ShownRun, members
from lsmlab.reports.comparison.numbers_table import numbers_section
from lsmlab.reports.comparison.settings import settings_section
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.page import assemble, footer, paragraphs, run_page, section, write_page
from lsmlab.reports.palette import RUNS
from lsmlab.reports.run_data import PAGE, load_run
from lsmlab.reports.variants import FILE

_SCRIPT: Final = Path(__file__).with_name("cursor.js")
_MOST_IN_TITLE: Final = 4
"""Largest number of runs that the title of the page names."""
MOST_RUNS = len(RUNS)
"""Largest number of runs on a page: more lines in one figure could not be distinguished."""


def draw_comparison(directory: Path, run_directories: list[Path]) -> Path:
    """Write DIR/report.html that compares finished runs, or variants; return its path.

    The pages of the compared runs are written first, because the comparison links to them.
    """
    if (directory / FILE).is_file():
        from lsmlab.reports.variants_page import write_variants

        return write_variants(directory)
    for path in run_directories[:MOST_RUNS]:
        write_page(path / PAGE, run_page(load_run(path)))
    return write_comparison(directory / PAGE, directory, run_directories)


def write_comparison(out: Path, directory: Path, run_directories: Sequence[Path]) -> Path:
    """Write the page that compares the first `MOST_RUNS` of these runs into the file `out`."""
    runs = [load_run(path) for path in run_directories[:MOST_RUNS]]
    left_out = max(0, len(run_directories) - MOST_RUNS)
    shown = members(runs, directory)
    return write_page(out, compare_page(shown, directory.resolve().name, out.resolve().parent, left_out=left_out))


def compare_page(shown: Sequence[ShownRun], name: str, home: Path, *, left_out: int = 0) -> str:
    """Return the HTML page that compares runs; links to the pages of the runs are relative to the folder `home`."""
    runs, names = [one.run for one in shown], [one.name for one in shown]
    changes = change_figures(shown)
    over_time, whole = of_runs(COMPARED_OVER_TIME, runs, names), of_runs(COMPARED_WHOLE, runs, names)
    more = [f"The first {len(runs)} runs are shown; {left_out} more are not."] if left_out else []
    body = (
        f"{paragraphs([*sentences(shown), *more])}{numbers_section(shown, home)}"
        f"{_sections(over_time)}{_sections(changes)}{tables(shown)}{_sections(whole)}{settings_section(shown)}"
    )
    title = " / ".join(names) if len(runs) <= _MOST_IN_TITLE else f"LSMLab comparison: {name}"
    figures = [*over_time, *changes, *whole]
    subtitle = f"{len(runs)} runs side by side, compared with the first"
    return assemble(title, subtitle, body, figures, footer(runs), f"<script>{_SCRIPT.read_text(encoding='utf-8')}</script>")


def _sections(figures: Sequence[Figure]) -> str:
    return "".join(section(figure) for figure in figures)
