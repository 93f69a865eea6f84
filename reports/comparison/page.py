"""Comparison page: two to eight runs side by side, and their differences from the first one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lsmlab.reports.charts import COMPARED_OVER_TIME, COMPARED_WHOLE, of_runs
from lsmlab.reports.comparison.conclusion import conclude
from lsmlab.reports.comparison.members import ShownRun, command_of, members
from lsmlab.reports.comparison.settings import settings_section
from lsmlab.reports.differences import change_figures, differences_table, sum_up
from lsmlab.reports.headline import Fact, headline
from lsmlab.reports.page import Page, page_link
from lsmlab.reports.palette import RUNS
from lsmlab.reports.parts import Best, Html, Part, Section, Table, escaped, heading, paragraph
from lsmlab.reports.run_data import PAGE, load_run
from lsmlab.reports.run_page import draw_runs, versions
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
        from lsmlab.reports.variants_page import draw_variants

        return draw_variants(directory)
    draw_runs(run_directories[:MOST_RUNS])
    return write_comparison(directory / PAGE, directory, run_directories)


def write_comparison(out: Path, directory: Path, run_directories: Sequence[Path]) -> Path:
    """Write the page that compares the first `MOST_RUNS` of these runs into the file `out`."""
    runs = [load_run(path) for path in run_directories[:MOST_RUNS]]
    left_out = max(0, len(run_directories) - MOST_RUNS)
    shown = members(runs, directory)
    return _page(shown, command_of(directory), directory.resolve().name, out.resolve().parent, left_out).write(out)


def _page(shown: Sequence[ShownRun], command: str, name: str, home: Path, left_out: int) -> Page:
    """Return the page that compares runs; links to the pages of the runs are relative to the folder `home`."""
    runs, names = [one.run for one in shown], [one.name for one in shown]
    more = [f"The first {len(runs)} runs are shown; {left_out} more are not."] if left_out else []
    parts: list[Part] = [
        conclude(shown, command), *map(paragraph, more), numbers_section(shown, home), *of_runs(COMPARED_OVER_TIME, runs, names),
        *change_figures([(one.name, one.differences) for one in shown[1:]], names[0]), *differences_sections(shown),
        *of_runs(COMPARED_WHOLE, runs, names), settings_section(shown),
    ]  # fmt: skip
    title = " / ".join(names) if len(runs) <= _MOST_IN_TITLE else f"LSMLab comparison: {name}"
    subtitle = f"{len(runs)} runs side by side, compared with the first"
    return Page(title, subtitle, parts, versions(runs), f"<script>{_SCRIPT.read_text(encoding='utf-8')}</script>")


def summaries(shown: Sequence[ShownRun]) -> list[str]:
    """Return a sentence for each run after the first: its differences from the first one."""
    return [sum_up(one.name, shown[0].name, one.differences) for one in shown[1:]]


def differences_sections(shown: Sequence[ShownRun]) -> list[Section]:
    """Return the section with a table of all differences for each run after the first; none for a single run."""
    first = shown[0]
    parts: list[Part] = []
    for one in shown[1:]:
        parts += [heading(f"{one.name} against {first.name}"), differences_table(one.differences, first.name, one.name)]
    seeds = f"{first.seeds} seeds each, the same for all runs" if first.seeds > 1 else "one seed each"
    caption = f"Means over the seeds ({seeds}); the interval is that of the change between one real run of each configuration."
    return [Section("differences", "Differences", parts, caption)] if parts else []


def numbers_section(shown: Sequence[ShownRun], home: Path, title: str = "Headline numbers") -> Section:
    """Return the section with the headline numbers; links to the pages of the runs are relative to the folder `home`."""
    linked = any((one.run.directory / PAGE).is_file() for one in shown)
    links = "; a name links to that run's own page" if linked else ""
    several = shown[0].seeds > 1
    seeds = " The numbers are those of the first seed; the table of differences has means over the seeds." if several else ""
    facts = [{fact.key: fact for fact in headline(one.run)} for one in shown]
    row_facts = {key: fact for run_facts in facts for key, fact in run_facts.items()}
    head = ["", *(_head(one, color, home) for one, color in zip(shown, RUNS, strict=False))]
    rows = [[fact.label, *(_cell(fact, run_facts.get(key), facts) for run_facts in facts)] for key, fact in row_facts.items()]
    table = Table(head, rows, style="compare")
    return Section("headline-numbers", title, [table], f"A star marks the best run of each row{links}.{seeds}")


def _head(one: ShownRun, color: str, home: Path) -> Html:
    name = page_link(one.run.directory, one.name, home) or escaped(one.name)
    return Html(f'<span class="key" style="background:{color}"></span>{name}')


def _cell(row: Fact, fact: Fact | None, facts: Sequence[dict[str, Fact]]) -> str:
    if fact is None:
        return row.missing
    rivals = [run_facts[row.key] for run_facts in facts if row.key in run_facts]
    best = max(rivals, key=lambda rival: rival.better * rival.value)
    marked = fact.better != 0 and fact.text == best.text and any(rival.text != best.text for rival in rivals)
    return Best(fact.text) if marked else fact.text
