"""Analysis of a sweep as text for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from lsmlab.sim.results.comparison_text import aligned
from lsmlab.sim.studies.sweep.analysis import Analysis, Front, Ranked, Ranking
from lsmlab.sim.studies.sweep.effects import Effects, Interaction, MainEffect, SobolIndex, Spread
from lsmlab.sim.studies.sweep.query import LABELS, value_text
from lsmlab.sim.studies.sweep.sweep import SweepAnswer

_FEW: Final = 3
"""Number of configurations that are shown for each objective."""
_WIDTH: Final = 120
_MOST_INTERACTIONS: Final = 5


def analysis_text(found: Analysis) -> str:
    """Return the best configurations, the keys that matter, and the size of the Pareto front; at most 120 columns wide."""
    parts = [_best(one) for one in found.best]
    parts += [_effects(found.effects)] if any(found.effects.values()) else []
    parts += [_indices(name, rows) for name, rows in found.sobol.items()]
    if found.pareto is not None:
        parts.append(_front(found.pareto))
    if found.seeds == 1:
        parts.append("One run per configuration: no intervals over seeds; --replications 5 gives them.\n")
    return "\n".join(parts)


def sweep_text(found: SweepAnswer) -> str:
    """Return the number of runs, and the analysis."""
    seeds = f" x {len(found.seeds)} seeds" if len(found.seeds) > 1 else ""
    kept = f", {found.kept} of them from the run store" if found.kept else ""
    failed = f", {found.failed} failed" if found.failed else ""
    analysis = f"\n\n{analysis_text(found.analysis)}" if found.analysis is not None else "\n"
    return f"{found.configurations} configurations{seeds}: {found.finished} finished runs{kept}{failed}{analysis}"


def metric_name(name: str) -> str:
    """Return the name of a number in texts; that of a varied key is its last part."""
    return LABELS.get(name, key_name(name) if name.startswith("engine.options.") else name)


def key_name(key: str) -> str:
    """Return the last part of a key."""
    return key.rpartition(".")[2]


def _best(one: Ranking) -> str:
    name = one.objective
    lines = [f"{'Largest' if one.largest else 'Smallest'} {metric_name(name)}:"]
    if one.ties:
        lines.append(f"  an exact tie of {len(one.ties)} configurations with every seed:")
        lines += [_shortened(f"    {text}") for text in one.ties[:_FEW]]
        if len(one.ties) > _FEW:
            lines.append(f"    ... {len(one.ties) - _FEW} more")
    rows = [row for row in one.ranking if row.configuration not in one.ties] if one.ties else one.ranking
    first = one.ranking[:1] if one.ties else []
    for row in [*first, *rows][:_FEW]:
        chance = "" if row.probability is None else f", best with probability {row.probability:.0%}"
        label = "their value" if one.ties and row is one.ranking[0] else row.configuration
        chance = "" if label == "their value" else chance
        lines.append(_shortened(f"  {label}: {_with_interval(name, row)}{chance}"))
    return "\n".join(lines) + "\n"


def _with_interval(name: str, row: Ranked) -> str:
    text = value_text(name, row.mean)
    if row.low is None or row.low == row.high:
        return text
    return f"{text} ({value_text(name, row.low)} to {value_text(name, row.high)})"


def _shortened(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH // 2]} … {line[-_WIDTH // 2 + 4 :]}"


def _effects(effects: Mapping[str, Effects | None]) -> str:
    """Return a table of the shares of the variance between configurations, by key and number."""
    known = {name: one for name, one in effects.items() if one}
    first = next(iter(known.values()))
    rows = [["share of variance", *map(metric_name, known)]]
    rows += [[key_name(row.key), *(_share(_main(one, row.key).share) for one in known.values())] for row in first.main]
    pairs = [row.keys for row in first.interactions or []]
    pairs.sort(key=lambda pair: -max(_pair(one, pair).share.mean for one in known.values()))
    for pair in pairs[:_MOST_INTERACTIONS]:
        rows.append([" x ".join(map(key_name, pair)), *(_share(_pair(one, pair).share) for one in known.values())])
    same = [metric_name(name) for name, one in effects.items() if not one]
    lines = aligned(rows)
    if same:
        lines.append(f"{', '.join(same)}: the same in all configurations")
    return "\n".join(lines) + "\n"


def _main(effects: Effects, key: str) -> MainEffect:
    return next(row for row in effects.main if row.key == key)


def _pair(effects: Effects, keys: list[str]) -> Interaction:
    return next(row for row in effects.interactions or [] if row.keys == keys)


def _share(share: Spread) -> str:
    if share.low is None:
        return f"{share.mean:.0%}"
    return f"{share.mean:.0%} ({share.low:.0%} to {share.high:.0%})"


def _indices(name: str, indices: Sequence[SobolIndex]) -> str:
    rows = [[f"Sobol indices of {metric_name(name)}", "alone", "with interactions"]]
    rows += [[key_name(row.key), *(_index(getattr(row, order)) for order in ("first", "total"))] for row in indices]
    return "\n".join(aligned(rows)) + "\n"


def _index(value: Spread) -> str:
    return f"{value.mean:.2f} ({value.low:.2f} to {value.high:.2f})"


def _front(found: Front) -> str:
    rows = found.front
    names = list(rows[0].values)
    head = f"Pareto front of {', '.join(map(metric_name, names))}: {len(rows)} of {found.configurations} configurations"
    lines = [head]
    for row in rows[:_FEW]:
        values = ", ".join(value_text(name, row.values[name]) for name in names)
        lines.append(_shortened(f"  {row.configuration}: {values}"))
    if len(rows) > _FEW:
        lines.append(f"  ... {len(rows) - _FEW} more")
    lines += [_shortened(f"  exact tie: {'; '.join(group)}") for group in found.ties[:_FEW]]
    return "\n".join(lines) + "\n"
