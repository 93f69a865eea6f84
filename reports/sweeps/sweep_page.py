"""Page of a sweep: what matters, the best configurations, all configurations, and links to the pages of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.charts import OPERATIONS
from lsmlab.reports.comparison.differences import summaries, tables
from lsmlab.reports.comparison.members import ShownRun, of_configurations
from lsmlab.reports.comparison.numbers_table import numbers_section, page_link
from lsmlab.reports.comparison.settings import settings_section
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.curves import overlaid
from lsmlab.reports.figures.sweep import (
    effect_figure,
    heat_map,
    parallel_coordinates,
    pareto_figure,
    sobol_figure,
)
from lsmlab.reports.page import assemble, paragraphs, run_page, section, write_page
from lsmlab.reports.parts import Html, html_section, html_table
from lsmlab.reports.run_data import PAGE, load_run
from lsmlab.reports.text.sweep import key_name, metric_name
from lsmlab.sim.studies.sweep.analysis import Analysis
from lsmlab.sim.studies.sweep.effects import Spread
from lsmlab.sim.studies.sweep.measured import Measured, read_measured
from lsmlab.sim.studies.sweep.query import read_index, value_text

_MOST_PAGES: Final = 6
"""Largest number of configurations whose first run gets a page of its own: the best ones and those on the front."""
_MOST_ROWS: Final = 200
"""Largest number of configurations in the table."""


def draw_sweep(analysis: Analysis, directory: Path) -> Path:
    """Write DIR/report.html of a sweep, and the pages of its best runs; return its path."""
    measured = read_measured(directory, [o.name for o in analysis.objectives])
    runs = _folders(directory)
    chosen = {name: runs[name] for name in _chosen(analysis) if all((f / "series.parquet").is_file() for f in runs[name])}
    for folders in chosen.values():
        write_page(folders[0] / PAGE, run_page(load_run(folders[0])))
    return write_page(directory / PAGE, sweep_page(directory, measured, analysis, runs, of_configurations(chosen)))


def _folders(directory: Path) -> dict[str, list[Path]]:
    """Return the folders of each configuration's runs, the first seed first."""
    columns = read_index(directory).select(["configuration", "run"]).to_pydict()
    found: dict[str, list[Path]] = {}
    for name, run in zip(columns["configuration"], columns["run"], strict=True):
        found.setdefault(name, []).append(directory / run)
    return found


def _chosen(analysis: Analysis) -> list[str]:
    """Return the configurations that get pages: the best of each objective, the Pareto front, then those next to the best."""
    names = [one.ranking[0].configuration for one in analysis.best]
    names += [row.configuration for row in (analysis.pareto.front if analysis.pareto else [])]
    names += [row.configuration for one in analysis.best for row in one.ranking[1:2]]
    return list(dict.fromkeys(names))[:_MOST_PAGES]


def sweep_page(
    directory: Path, measured: Measured, analysis: Analysis, runs: Mapping[str, Sequence[Path]], best: Sequence[ShownRun]
) -> str:
    """Return the whole HTML page of a sweep; `best`: configurations that it compares side by side."""
    metrics = [o.name for o in analysis.objectives]
    figures: list[Figure] = [sobol_figure(name, rows) for name, rows in analysis.sobol.items()]
    figures += [effect_figure(name, one) for name, one in analysis.effects.items() if one]
    keys = _strongest(analysis, metrics)
    if len(keys) == 2:
        figures.append(heat_map(measured, metrics[0], keys))
    if metrics:
        figures.append(parallel_coordinates(measured, metrics))
    if analysis.pareto is not None:
        figures.append(pareto_figure(measured, analysis.pareto, metrics))
    side = [overlaid(OPERATIONS, [one.run for one in best], [one.name for one in best])] if len(best) > 1 else []
    body = (
        f"{paragraphs([*_story(analysis), *summaries(best)])}{_shares(analysis)}"
        f"{''.join(section(figure) for figure in figures)}{_side_by_side(best, side, directory)}"
        f"{_table(directory, measured, analysis, runs)}"
    )
    about = measured.about
    seeds = numbers.plural(measured.seeds, "seed")
    subtitle = f"{len(measured.names)} configurations, {seeds} each, design {about['design']}; 90 % intervals"
    named = ", ".join(map(str, about["seeds"]))
    footer = f"lsmlab sweep, seeds {named}. This file needs no network."
    return assemble(f"Sweep of {', '.join(map(key_name, measured.levels))}", subtitle, body, [*figures, *side], footer)


def _side_by_side(best: Sequence[ShownRun], figures: Sequence[Figure], directory: Path) -> str:
    """Return the best configurations as a comparison draws its runs: numbers, curves, differences and settings."""
    if len(best) < 2:
        return ""
    drawn = "".join(section(figure) for figure in figures)
    return f"{numbers_section(best, directory, 'The best side by side')}{drawn}{tables(best)}{settings_section(best)}"


def _strongest(analysis: Analysis, metrics: Sequence[str]) -> list[str]:
    """Return the two keys with the largest shares of the first objective's variance."""
    effects = next((analysis.effects[name] for name in metrics[:1] if analysis.effects[name]), None)
    if effects is None:
        return []
    return [row.key for row in sorted(effects.main, key=lambda row: -row.share.mean)[:2]]


def _story(analysis: Analysis) -> list[str]:
    sentences = []
    for one in analysis.best:
        name, first = metric_name(one.objective), one.ranking[0]
        kind, value = "largest" if one.largest else "smallest", value_text(one.objective, first.mean)
        if one.ties:
            sentences.append(f"The {kind} {name}, {value}, is an exact tie of {len(one.ties)} configurations.")
            continue
        chance = ""
        if first.probability is not None:
            chance = f" It is the best with probability {first.probability:.0%}."
        sentences.append(f"The {kind} {name}, {value}: {first.configuration}.{chance}")
    if analysis.seeds == 1:
        sentences.append("Each configuration ran with one seed, so the page has no intervals over seeds.")
    return sentences or ["No run has the objectives of this sweep."]


def _shares(analysis: Analysis) -> str:
    """Return the table of the keys' shares of variance, interactions included."""
    known = {name: one for name, one in analysis.effects.items() if one}
    if not known:
        return ""
    first = next(iter(known.values()))
    rows = [
        _share_row(key_name(row.key), [one.main[i].share for one in known.values()]) for i, row in enumerate(first.main)
    ]
    for i, pair in enumerate(first.interactions or []):
        shares = [one.interactions[i].share for one in known.values() if one.interactions is not None]
        rows.append(_share_row(" x ".join(map(key_name, pair.keys)), shares))
    caption = "Share of the variance between configurations that each key causes, and each pair of keys beyond its two keys."
    return html_section("shares", "What matters", html_table(["key", *map(metric_name, known)], rows), caption)


def _share_row(label: str, shares: Sequence[Spread]) -> list[str]:
    cells = [label]
    for share in shares:
        around = "" if share.low is None else f" ({share.low:.0%} to {share.high:.0%})"
        cells.append(f"{share.mean:.0%}{around}")
    return cells


def _table(directory: Path, measured: Measured, analysis: Analysis, runs: Mapping[str, Sequence[Path]]) -> str:
    """Return the table of the configurations, the best by the first objective first."""
    metrics = [o.name for o in analysis.objectives]
    means = {name: measured.metrics[name].mean(axis=1) for name in metrics}
    order = np.arange(len(measured.names))
    if metrics:
        sign = -1.0 if analysis.objectives[0].largest else 1.0
        order = np.argsort(sign * means[metrics[0]], kind="stable")  # NaN comes last
    rows = [
        (
            Html(page_link(runs[measured.names[i]][0], measured.names[i], directory)),
            *(_mean_text(name, float(means[name][i])) for name in metrics),
        )
        for i in order[:_MOST_ROWS].tolist()
    ]  # fmt: skip
    more = f" The first {_MOST_ROWS} of {len(order)} are shown; 'lsmlab results' prints all." if len(order) > _MOST_ROWS else ""
    caption = f"Means over the seeds. A name with a link leads to the page of the configuration's first run.{more}"
    table = html_table(["configuration", *map(metric_name, metrics)], rows)
    return html_section("configurations", "Configurations", table, caption)


def _mean_text(metric: str, mean: float) -> str:
    return "a run failed" if np.isnan(mean) else numbers.micro(value_text(metric, mean))
