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
from lsmlab.reports.conclusion import (
    Conclusion,
    begun,
    bottleneck_sentence,
    doubt_of,
    open_loop_sentences,
    states_sentence,
)
from lsmlab.reports.differences import between
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
from lsmlab.reports.run_data import is_run
from lsmlab.reports.study_kind import StudyKind
from lsmlab.sim.configuration.names import configuration_name
from lsmlab.sim.studies.lengths import StoreState
from lsmlab.sim.studies.sweep.analysis import Analysis, Front, Ranked, Ranking
from lsmlab.sim.studies.sweep.effects import Effects, SobolIndex, Spread, read_space
from lsmlab.sim.studies.sweep.measured import SWEEP as FILE
from lsmlab.sim.studies.sweep.measured import Measured, read_measured, states
from lsmlab.sim.studies.sweep.query import read_index, value_text
from lsmlab.sim.studies.sweep.sweep import SweepAnswer, SweepRequest, answered, cost

_MOST_PAGES: Final = 6
"""Largest number of configurations whose first run gets a page of its own: the best ones and those on the front."""
_MOST_ROWS: Final = 200
"""Largest number of configurations in the table."""
_LEAST: Final = 0.01
"""Relative difference of an objective from which on it matters what causes it."""
_FEW: Final = 3
"""Number of configurations that the terminal shows for each objective."""
_MOST_INTERACTIONS: Final = 5
"""Largest number of pairs of keys that the terminal shows."""


def sweep_page(answer: SweepAnswer, directory: Path) -> Page:
    """Return the page of a sweep in its folder."""
    analysis = answer.analysis
    if analysis is None:
        return Page("Sweep", "no run succeeded", [])
    metrics = [o.name for o in analysis.objectives]
    measured, best = read_measured(directory, metrics), of_configurations(_chosen(analysis, directory))
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
    closed = any(name.startswith("open_loop") for name in metrics)  # then the clients' own latencies, which it names, mislead
    differing = [] if closed else summaries(best)
    parts: list[Part] = [
        *([Story(differing)] if differing else []),
        *(Section("shares", "What matters", [table], caption) for table in _shares(analysis.effects)),
        *figures, *_side_by_side(best, directory), _table(directory, measured, analysis),
    ]  # fmt: skip
    about = measured.about
    seeds = numbers.plural(measured.seeds, "seed")
    subtitle = f"{len(measured.names)} configurations, {seeds} each, design {about['design']}; 90 % of the noise between seeds"
    footer = f"lsmlab sweep, seeds {', '.join(map(str, about['seeds']))}"
    return Page(f"Sweep of {', '.join(map(key_name, measured.levels))}", subtitle, parts, footer)


def _folders(directory: Path) -> dict[str, list[Path]]:
    """Return the folders of each configuration's runs, the first seed first."""
    columns = read_index(directory).select(["configuration", "run"]).to_pydict()
    found: dict[str, list[Path]] = {}
    for name, run in zip(columns["configuration"], columns["run"], strict=True):
        found.setdefault(name, []).append(directory / run)
    return found


def _chosen(analysis: Analysis, directory: Path) -> dict[str, list[Path]]:
    """Return the folders of the configurations that get pages, the first seed first.

    These are the best of each objective, the Pareto front, then those next to the best.
    """
    names = [one.ranking[0].configuration for one in analysis.best]
    names += [row.configuration for row in (analysis.pareto.front if analysis.pareto else [])]
    names += [row.configuration for one in analysis.best for row in one.ranking[1:2]]
    runs = _folders(directory)
    return {name: runs[name] for name in list(dict.fromkeys(names))[:_MOST_PAGES] if all(map(is_run, runs[name]))}


def conclude(found: SweepAnswer) -> Conclusion:
    """Return the conclusion: the best configuration of each objective, what matters, and how sure that is."""
    analysis = found.analysis
    if analysis is None or not analysis.best:
        reason = "No run succeeded." if analysis is None else "No run has the objectives of this sweep."
        return Conclusion(reason, command=found.command)
    winners = [one.ranking[0].configuration for one in analysis.best]
    known = {name: analysis.states[name] for name in dict.fromkeys(winners) if name in analysis.states}
    first, *more = [_best_sentence(one) for one in analysis.best]
    return Conclusion(
        begun(known.values(), first), [*more, *(f"{name} {state.overload}." for name, state in known.items() if state.overload)],
        why=[*_what_matters(analysis), *(
            f"{name}: {bottleneck_sentence(state.bottleneck)}" for name, state in known.items() if state.bottleneck
        )],
        would_help=[
            *_at_the_ends(found, winners), "`lsmlab advise` with the folder of one of the runs tries changes of other keys.",
        ],
        how_sure=[*_lengths(found, analysis, known), *_doubts(found, analysis)],
        command=found.command,
    )  # fmt: skip


def _best_sentence(one: Ranking) -> str:
    name, first = metric_name(one.objective), one.ranking[0]
    best = f"The {'largest' if one.largest else 'smallest'} {name}, {_with_interval(one.objective, first)}"
    if one.ties:
        more = "; …" if len(one.ties) > _FEW else ""
        return f"{best}, is an exact tie of {len(one.ties)} configurations: {'; '.join(one.ties[:_FEW])}{more}."
    chance = "" if first.probability is None else f" It is the best with probability {first.probability:.0%}."
    return f"{best}: {first.configuration}.{chance}"


def _what_matters(analysis: Analysis) -> list[str]:
    """Return the key that causes most of the differences in each objective."""
    sentences = []
    for name, one in analysis.effects.items():
        if one is not None and one.main:
            largest = max(one.main, key=lambda row: row.share.mean)
            means = [level.mean for level in largest.levels]
            if max(means) - min(means) < _LEAST * max(map(abs, means)):
                sentences.append(f"{key_name(largest.key)} matters most for {metric_name(name)}, by less than {_LEAST:.0%}.")
                continue
            sentences.append(
                f"{key_name(largest.key)} causes {_share(largest.share)} of the variance of {metric_name(name)} between "
                "the configurations."
            )
    return sentences


def _at_the_ends(found: SweepAnswer, winners: Sequence[str]) -> list[str]:
    """Return the keys whose best value is at the end of their range: a wider range may give more."""
    ends = {
        dimension.key: {configuration_name({dimension.key: dimension.range.at(share)}) for share in (0.0, 1.0)}
        for dimension in read_space(found.space).dimensions if dimension.range is not None
    }  # fmt: skip
    parts = set(winners[0].split(", "))
    keys = [key_name(key) for key, names in ends.items() if names & parts]
    return [f"A wider range may give more: the best value of {' and of '.join(keys)} is at the end of its range."] if keys else []


def _lengths(found: SweepAnswer, analysis: Analysis, best: Mapping[str, StoreState]) -> list[str]:
    """Return whether the numbers are those of the long run: of all configurations, with reasons of the best ones."""
    if not analysis.unsettled:
        return [states_sentence(best)] if best else []
    doubtful = {name: state for name, state in best.items() if state.unsettled is not None}
    reasons = [states_sentence(doubtful)] if doubtful else []
    many = f"{analysis.unsettled} of {found.configurations} configurations had not settled"
    return [*reasons, f"{many}; their numbers are those of this length of run."]


def _doubts(found: SweepAnswer, analysis: Analysis) -> list[str]:
    """Return what the numbers of a sweep do not say."""
    seeds = "Each configuration ran with one seed, so there are no intervals over seeds (`--replications 5`)."
    if analysis.seeds > 1:
        seeds = f"{analysis.seeds} seeds each: the intervals are the noise between seeds (90 %), without the model's own error."
    sentences = [seeds]
    if doubts := open_loop_sentences(o.name for o in analysis.objectives):
        sentences += [*doubts, "`--objective write_latency_s.p99` analyses the clients' own."]
    if found.failed:
        sentences.append(f"{numbers.plural(found.failed, 'run')} failed.")
    return sentences


def sweep_text(found: SweepAnswer) -> str:
    """Return the number of runs, and the analysis."""
    seeds = f" x {len(found.seeds)} seeds" if len(found.seeds) > 1 else ""
    kept = f", {found.kept} of them from the run store" if found.kept else ""
    failed = f", {found.failed} failed" if found.failed else ""
    analysis = f"\n\n{analysis_text(found.analysis)}" if found.analysis is not None else "\n"
    return f"{found.configurations} configurations{seeds}: {found.finished} finished runs{kept}{failed}{analysis}"


def analysis_text(found: Analysis) -> str:
    """Return the best configurations, the keys that matter, and the size of the Pareto front; at most 120 columns wide."""
    parts = [_best_lines(one, found.states) for one in found.best]
    same = [metric_name(name) for name, one in found.effects.items() if not one]
    for table in _shares(found.effects, _MOST_INTERACTIONS):
        parts.append([*table.lines(), *([f"{', '.join(same)}: the same in all configurations"] if same else [])])
    parts += [_indices(name, rows).lines() for name, rows in found.sobol.items()]
    if found.pareto is not None:
        parts.append(_front_lines(found.pareto))
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
    mean = f"{share.mean:.0%}"
    return mean if share.low is None else f"{mean} {between(mean, f'{share.low:.0%}', f'{share.high:.0%}')}"


def _indices(name: str, indices: Sequence[SobolIndex]) -> Table:
    rows = [[key_name(row.key), *(_index(spread) for spread in (row.first, row.total))] for row in indices]
    return Table([f"Sobol indices of {metric_name(name)}", "alone", "with interactions"], rows)


def _index(value: Spread) -> str:
    return f"{value.mean:.2f} ({value.low:.2f} to {value.high:.2f})"


def _table(directory: Path, measured: Measured, analysis: Analysis) -> Section:
    """Return the table of the configurations, the best by the first objective first."""
    runs, known = _folders(directory), states(directory)
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
        doubt = doubt_of(known.get(name))
        rows.append((link, *(_mean_text(metric, float(means[metric][i])) for metric in metrics), doubt))
    more = f" The first {_MOST_ROWS} of {len(order)} are shown; 'lsmlab results' prints all." if len(order) > _MOST_ROWS else ""
    caption = f"Means over the seeds. A name with a link leads to the page of the configuration's first run.{more}"
    table = Table(["configuration", *map(metric_name, metrics), ""], rows, texts=[len(metrics) + 1])
    return Section("configurations", "Configurations", [table], caption)


def _mean_text(metric: str, mean: float) -> str:
    return "a run failed" if np.isnan(mean) else value_text(metric, mean)


def _best_lines(one: Ranking, known: Mapping[str, StoreState]) -> list[str]:
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
        doubt = f", {found}" if (found := doubt_of(known.get(row.configuration))) else ""
        lines.append(_shortened(f"  {row.configuration}: {_with_interval(name, row)}{chance}{doubt}"))
    return lines


def _with_interval(name: str, row: Ranked) -> str:
    text = value_text(name, row.mean)
    if row.low is None or row.low == row.high:
        return text
    return f"{text} {between(text, value_text(name, row.low), value_text(name, row.high))}"


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


def _runs(answer: SweepAnswer, directory: Path) -> list[Path]:
    """Return the first runs of the configurations that get pages."""
    return [folders[0] for folders in _chosen(answer.analysis, directory).values()] if answer.analysis is not None else []


SWEEP = StudyKind(
    "sweep", FILE, SweepRequest, answered, cost, conclude, sweep_text, sweep_page,
    "fewer points or replications, or shorter runs",
    "lsmlab sweep device=nvme,sata engine.options.write_buffer_size=16MiB..256MiB engine.options.max_background_jobs=2,4,8 "
    "--design lhs --points 50 --replications 3", runs=_runs,
)  # fmt: skip
