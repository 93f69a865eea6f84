"""Sweep: what matters, the best configurations, all configurations, and links to the pages of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from lsmlab.reports import numbers
from lsmlab.reports.charts import OPERATIONS
from lsmlab.reports.comparison.members import ShownRun, of_configurations
from lsmlab.reports.comparison.page import differences_sections, numbers_section, summaries
from lsmlab.reports.comparison.settings import settings_section
from lsmlab.reports.conclusion import Conclusion
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.figures.curves import overlaid
from lsmlab.reports.figures.sweep import (
    effect_figure,
    heat_map,
    key_name,
    metric_name,
    parallel_coordinates,
    pareto_figure,
    sobol_figure,
)
from lsmlab.reports.page import Page, page_link
from lsmlab.reports.parts import WIDTH, Part, Section, Story, Table
from lsmlab.reports.run_data import PAGE, is_run
from lsmlab.reports.run_page import draw_runs
from lsmlab.sim.studies.sweep.analysis import Analysis, Front, Ranked, Ranking
from lsmlab.sim.studies.sweep.effects import Effects, SobolIndex, Spread
from lsmlab.sim.studies.sweep.measured import Measured, read_measured
from lsmlab.sim.studies.sweep.query import read_index, value_text
from lsmlab.sim.studies.sweep.sweep import SweepAnswer

_MOST_PAGES: Final = 6
"""Largest number of configurations whose first run gets a page of its own: the best ones and those on the front."""
_MOST_ROWS: Final = 200
"""Largest number of configurations in the table."""
_FEW: Final = 3
"""Number of configurations that the terminal shows for each objective."""
_MOST_INTERACTIONS: Final = 5
"""Largest number of pairs of keys that the terminal shows."""


def draw_sweep(analysis: Analysis, directory: Path) -> Path:
    """Write DIR/report.html of a sweep, and the pages of its best runs; return its path."""
    measured = read_measured(directory, [o.name for o in analysis.objectives])
    runs = _folders(directory)
    chosen = {name: runs[name] for name in _chosen(analysis) if all(map(is_run, runs[name]))}
    draw_runs(folders[0] for folders in chosen.values())
    return sweep_page(directory, measured, analysis, runs, of_configurations(chosen)).write(directory / PAGE)


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
) -> Page:
    """Return the page of a sweep; `best`: configurations that it compares side by side."""
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
    caption = "Share of the variance between configurations that each key causes, and each pair of keys beyond its two keys."
    parts: list[Part] = [
        Story([*_story(analysis), *summaries(best)]),
        *(Section("shares", "What matters", [table], caption) for table in _shares(analysis.effects)),
        *figures, *_side_by_side(best, directory), _table(directory, measured, analysis, runs),
    ]  # fmt: skip
    about = measured.about
    seeds = numbers.plural(measured.seeds, "seed")
    subtitle = f"{len(measured.names)} configurations, {seeds} each, design {about['design']}; 90 % intervals"
    footer = f"lsmlab sweep, seeds {', '.join(map(str, about['seeds']))}"
    return Page(f"Sweep of {', '.join(map(key_name, measured.levels))}", subtitle, parts, footer)


def conclude(found: SweepAnswer) -> Conclusion:
    """Return the conclusion."""
    first, *more = _story(found.analysis) if found.analysis is not None else ["No run succeeded."]
    return Conclusion(first, more, command="lsmlab sweep")


def sweep_text(found: SweepAnswer) -> str:
    """Return the number of runs, and the analysis."""
    seeds = f" x {len(found.seeds)} seeds" if len(found.seeds) > 1 else ""
    kept = f", {found.kept} of them from the run store" if found.kept else ""
    failed = f", {found.failed} failed" if found.failed else ""
    analysis = f"\n\n{analysis_text(found.analysis)}" if found.analysis is not None else "\n"
    return f"{found.configurations} configurations{seeds}: {found.finished} finished runs{kept}{failed}{analysis}"


def analysis_text(found: Analysis) -> str:
    """Return the best configurations, the keys that matter, and the size of the Pareto front; at most 120 columns wide."""
    parts = [_best_lines(one) for one in found.best]
    same = [metric_name(name) for name, one in found.effects.items() if not one]
    for table in _shares(found.effects, _MOST_INTERACTIONS):
        parts.append([*table.lines(), *([f"{', '.join(same)}: the same in all configurations"] if same else [])])
    parts += [_indices(name, rows).lines() for name, rows in found.sobol.items()]
    if found.pareto is not None:
        parts.append(_front_lines(found.pareto))
    if found.seeds == 1:
        parts.append(["One run per configuration: no intervals over seeds; --replications 5 gives them."])
    return "\n".join("\n".join(lines) + "\n" for lines in parts)


def _side_by_side(best: Sequence[ShownRun], directory: Path) -> list[Part]:
    """Return the best configurations as a comparison draws its runs: numbers, curves, differences and settings."""
    if len(best) < 2:
        return []
    curves = overlaid(OPERATIONS, [one.run for one in best], [one.name for one in best])
    table = numbers_section(best, directory, "The best side by side")
    return [table, curves, *differences_sections(best), settings_section(best)]


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


def _shares(effects: Mapping[str, Effects | None], most: int | None = None) -> list[Table]:
    """Return the table of the keys' shares of variance, and those of at most `most` pairs of keys, the largest first.

    None for numbers that are the same in all configurations.
    """
    known = {metric_name(name): one for name, one in effects.items() if one}
    if not known:
        return []
    first = next(iter(known.values()))
    rows = [[key_name(row.key), *(_share(one.main[i].share) for one in known.values())] for i, row in enumerate(first.main)]
    complete = [one.interactions for one in known.values() if one.interactions is not None]
    largest = sorted(range(len(complete[0]) if complete else 0), key=lambda i: -max(own[i].share.mean for own in complete))
    for i in largest[:most]:
        shares = ["unknown" if one.interactions is None else _share(one.interactions[i].share) for one in known.values()]
        rows.append([" x ".join(map(key_name, complete[0][i].keys)), *shares])
    return [Table(["share of variance", *known], rows)]


def _share(share: Spread) -> str:
    return f"{share.mean:.0%}" if share.low is None else f"{share.mean:.0%} ({share.low:.0%} to {share.high:.0%})"


def _indices(name: str, indices: Sequence[SobolIndex]) -> Table:
    rows = [[key_name(row.key), *(_index(spread) for spread in (row.first, row.total))] for row in indices]
    return Table([f"Sobol indices of {metric_name(name)}", "alone", "with interactions"], rows)


def _index(value: Spread) -> str:
    return f"{value.mean:.2f} ({value.low:.2f} to {value.high:.2f})"


def _table(directory: Path, measured: Measured, analysis: Analysis, runs: Mapping[str, Sequence[Path]]) -> Section:
    """Return the table of the configurations, the best by the first objective first."""
    metrics = [o.name for o in analysis.objectives]
    means = {name: measured.metrics[name].mean(axis=1) for name in metrics}
    order = np.arange(len(measured.names))
    if metrics:
        sign = -1.0 if analysis.objectives[0].largest else 1.0
        order = np.argsort(sign * means[metrics[0]], kind="stable")  # NaN comes last
    rows = []
    for i in order[:_MOST_ROWS].tolist():
        name = measured.names[i]
        link = page_link(runs[name][0], name, directory) or name
        rows.append((link, *(_mean_text(metric, float(means[metric][i])) for metric in metrics)))
    more = f" The first {_MOST_ROWS} of {len(order)} are shown; 'lsmlab results' prints all." if len(order) > _MOST_ROWS else ""
    caption = f"Means over the seeds. A name with a link leads to the page of the configuration's first run.{more}"
    return Section("configurations", "Configurations", [Table(["configuration", *map(metric_name, metrics)], rows)], caption)


def _mean_text(metric: str, mean: float) -> str:
    return "a run failed" if np.isnan(mean) else value_text(metric, mean)


def _best_lines(one: Ranking) -> list[str]:
    name = one.objective
    lines = [f"{'Largest' if one.largest else 'Smallest'} {metric_name(name)}:"]
    if one.ties:
        lines.append(f"  an exact tie of {len(one.ties)} configurations with every seed:")
        lines += [_shortened(f"    {text}") for text in one.ties[:_FEW]]
        if len(one.ties) > _FEW:
            lines.append(f"    ... {len(one.ties) - _FEW} more")
        lines.append(f"  their value: {_with_interval(name, one.ranking[0])}")
    others = [row for row in one.ranking if row.configuration not in one.ties]
    for row in others[: _FEW - bool(one.ties)]:
        chance = "" if row.probability is None else f", best with probability {row.probability:.0%}"
        lines.append(_shortened(f"  {row.configuration}: {_with_interval(name, row)}{chance}"))
    return lines


def _with_interval(name: str, row: Ranked) -> str:
    text = value_text(name, row.mean)
    if row.low is None or row.low == row.high:
        return text
    return f"{text} ({value_text(name, row.low)} to {value_text(name, row.high)})"


def _front_lines(found: Front) -> list[str]:
    rows = found.front
    names = list(rows[0].values)
    lines = [f"Pareto front of {', '.join(map(metric_name, names))}: {len(rows)} of {found.configurations} configurations"]
    for row in rows[:_FEW]:
        values = ", ".join(value_text(name, row.values[name]) for name in names)
        lines.append(_shortened(f"  {row.configuration}: {values}"))
    if len(rows) > _FEW:
        lines.append(f"  ... {len(rows) - _FEW} more")
    return [*lines, *(_shortened(f"  exact tie: {'; '.join(group)}") for group in found.ties[:_FEW])]


def _shortened(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH // 2]} … {line[-WIDTH // 2 + 4 :]}"
