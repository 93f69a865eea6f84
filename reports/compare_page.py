"""Comparison page: two to eight runs side by side."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from lsmlab.reports.figures.comparison import (
    amplification_bars,
    overlaid_latency,
    overlaid_p99,
    overlaid_throughput,
    stall_bars,
)
from lsmlab.reports.headline import Fact, headline
from lsmlab.reports.page import assemble, footer, paragraphs, run_page, section, write_page
from lsmlab.reports.palette import RUNS
from lsmlab.reports.run_data import PAGE, RunData, load_run
from lsmlab.reports.variants import FILE

_WORTH_SAYING = 1.02
"""Smallest ratio of best to worst for which the page states a difference."""

MOST_RUNS = len(RUNS)
"""Largest number of runs on a page: more lines in one figure could not be distinguished."""


def finish_compare(directory: Path, run_directories: list[Path]) -> Path:
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
    return write_page(out, compare_page(runs, directory.resolve().name, out.resolve().parent, left_out=left_out))


def compare_page(runs: Sequence[RunData], name: str, home: Path, *, left_out: int = 0) -> str:
    """Return the HTML page that compares `runs`; links to the pages of the runs are relative to the folder `home`."""
    names = run_names(runs)
    figures = [
        overlaid_throughput(runs, names),
        overlaid_p99(runs, names),
        overlaid_latency(runs, names),
        stall_bars(runs, names),
        amplification_bars(runs, names),
    ]
    body = (
        f"{paragraphs(_story(runs, names, left_out))}<section><h2>Headline numbers</h2>"
        f"<p class='caption'>A star marks the best run of each row{_about_links(runs)}.</p>"
        f"{_table(runs, names, home)}</section>{''.join(section(figure) for figure in figures)}{_settings(runs, names)}"
    )
    title = f"LSMLab comparison: {name}"
    return assemble(title, f"{len(runs)} runs side by side", body, figures, footer(runs))


def run_names(runs: Sequence[RunData]) -> list[str]:
    """Name each run after its directory; add a number to names that occur twice."""
    names: list[str] = []
    for run in runs:
        name = run.name
        names.append(name if name not in names else f"{name} ({len(names) + 1})")
    return names


def _table(runs: Sequence[RunData], names: Sequence[str], home: Path) -> str:
    """Return an HTML table with one row per headline number and one column per run."""
    facts = [{fact.key: fact for fact in headline(run)} for run in runs]
    row_facts = list({key: fact for run_facts in facts for key, fact in run_facts.items()}.values())
    head = "".join(
        f'<th><span class="key" style="background:{color}"></span>{_link(run, name, home)}</th>'
        for run, name, color in zip(runs, names, RUNS, strict=False)
    )
    rows = "".join(
        f"<tr><th>{html.escape(fact.label)}</th>"
        + "".join(_cell(fact, run_facts.get(fact.key), facts) for run_facts in facts)
        + "</tr>"
        for fact in row_facts
    )
    return (
        '<div class="scroll"><table class="compare"><thead><tr><td></td>'
        f"{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _about_links(runs: Sequence[RunData]) -> str:
    return "; a name links to that run's own page" if any((run.directory / PAGE).is_file() for run in runs) else ""


def _link(run: RunData, name: str, home: Path) -> str:
    page = run.directory / PAGE
    if not page.is_file():
        return html.escape(name)
    target = quote(Path(os.path.relpath(page, home)).as_posix())
    return f'<a href="{html.escape(target)}">{html.escape(name)}</a>'


def _cell(row: Fact, fact: Fact | None, facts: Sequence[dict[str, Fact]]) -> str:
    if fact is None:
        return f'<td class="number">{row.missing}</td>'
    rivals = [run_facts[row.key] for run_facts in facts if row.key in run_facts]
    best = max(rivals, key=lambda rival: rival.better * rival.value)
    marked = fact.better != 0 and fact.text == best.text and any(rival.text != best.text for rival in rivals)
    return f'<td class="number{" best" if marked else ""}">{html.escape(fact.text)}</td>'


def _story(runs: Sequence[RunData], names: Sequence[str], left_out: int) -> list[str]:
    facts = [{fact.key: fact for fact in headline(run)} for run in runs]
    sentences = []
    for key, text in (
        ("ops_per_s", "{best} was the fastest with {value}, {factor} times as fast as {worst}."),
        ("write_p99", "Write P99 was lowest with {best} ({value}) and {factor} times as high with {worst}."),
        ("w_amp", "{best} wrote the least per user byte ({value}), {worst} {factor} times as much."),
    ):
        pairs = [(run_facts[key], name) for run_facts, name in zip(facts, names, strict=True) if key in run_facts]
        ordered = sorted(pairs, key=lambda pair: -pair[0].better * pair[0].value)
        if len(ordered) < 2 or ordered[0][0].value <= 0 or ordered[-1][0].value <= 0:
            continue
        (best, best_name), (worst, worst_name) = ordered[0], ordered[-1]
        factor = max(best.value / worst.value, worst.value / best.value)
        if factor >= _WORTH_SAYING:
            sentences.append(text.format(best=best_name, value=best.text, worst=worst_name, factor=f"{factor:.3g}"))
    if left_out:
        sentences.append(f"The first {len(runs)} runs are shown; {left_out} more are not.")
    return sentences or ["Throughput, write P99 and write amplification of these runs hardly differ."]


def _settings(runs: Sequence[RunData], names: Sequence[str]) -> str:
    """Return the section with the configuration values in which the runs differ, and each whole config.yaml."""
    lines = [_flat(run.config_text) for run in runs]
    keys = dict.fromkeys(key for values in lines for key in values)
    different = [key for key in keys if len({values.get(key) for values in lines}) > 1]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    rows = "".join(
        f"<tr><th>{html.escape(key)}</th>"
        + "".join(f"<td>{html.escape(values.get(key, 'not set'))}</td>" for values in lines)
        + "</tr>"
        for key in different
    )
    table = (
        f'<div class="scroll"><table><thead><tr><th>key</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        if rows else "<p>The configurations do not differ.</p>"
    )  # fmt: skip
    full_texts = "".join(
        f"<details><summary>config.yaml of {html.escape(name)}</summary>"
        f"<pre>{html.escape(run.config_text)}</pre></details>"
        for run, name in zip(runs, names, strict=True)
    )
    return f'<section id="configuration"><h2>Differences of the configurations</h2>{table}{full_texts}</section>'


def _flat(config: str) -> dict[str, str]:
    """Return the values of a configuration as text by dotted key."""
    import yaml

    result: dict[str, str] = {}

    def walk(prefix: str, value: object) -> None:
        if isinstance(value, dict) and value:
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else str(key), inner)
        else:
            result[prefix] = "null" if value is None else str(value)

    walk("", yaml.load(config, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if config else {})
    return result
