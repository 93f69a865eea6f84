"""Analysis of a sweep as text for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.sim.exploration.columns import LABELS, value_text
from lsmlab.sim.results.comparison_text import aligned

_FEW: Final = 3
"""Number of configurations that are shown for each objective."""
_WIDTH: Final = 120
_MOST_INTERACTIONS: Final = 5


def analysis_text(found: Mapping[str, Any]) -> str:
    """Return the best configurations, the keys that matter, and the size of the Pareto front; at most 120 columns wide."""
    parts = [_best(one) for one in found["best"]]
    parts += [_effects(found["effects"])] if any(found["effects"].values()) else []
    parts += [_indices(name, rows) for name, rows in found["sobol"].items()]
    if found["pareto"] is not None:
        parts.append(_front(found["pareto"]))
    if found["seeds"] == 1:
        parts.append("One run per configuration: no intervals over seeds; --replications 5 gives them.\n")
    return "\n".join(parts)


def metric_name(name: str) -> str:
    """Return the name of a number in texts; that of a varied key is its last part."""
    return LABELS.get(name, key_name(name) if name.startswith("engine.options.") else name)


def key_name(key: str) -> str:
    """Return the last part of a key."""
    return key.rpartition(".")[2]


def _best(one: Mapping[str, Any]) -> str:
    name = one["objective"]
    lines = [f"{'Largest' if one['largest'] else 'Smallest'} {metric_name(name)}:"]
    if one["ties"]:
        lines.append(f"  an exact tie of {len(one['ties'])} configurations with every seed:")
        lines += [_shortened(f"    {text}") for text in one["ties"][:_FEW]]
        if len(one["ties"]) > _FEW:
            lines.append(f"    ... {len(one['ties']) - _FEW} more")
    rows = [row for row in one["ranking"] if row["configuration"] not in one["ties"]] if one["ties"] else one["ranking"]
    first = one["ranking"][:1] if one["ties"] else []
    for row in [*first, *rows][:_FEW]:
        chance = "" if row["probability"] is None else f", best with probability {row['probability']:.0%}"
        label = "their value" if one["ties"] and row is one["ranking"][0] else row["configuration"]
        chance = "" if label == "their value" else chance
        lines.append(_shortened(f"  {label}: {_with_interval(name, row)}{chance}"))
    return "\n".join(lines) + "\n"


def _with_interval(name: str, row: Mapping[str, Any]) -> str:
    text = value_text(name, row["mean"])
    if row["low"] is None or row["low"] == row["high"]:
        return text
    return f"{text} ({value_text(name, row['low'])} to {value_text(name, row['high'])})"


def _shortened(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH // 2]} … {line[-_WIDTH // 2 + 4 :]}"


def _effects(effects: Mapping[str, Any]) -> str:
    """Return a table of the shares of the variance between configurations, by key and number."""
    known = {name: one for name, one in effects.items() if one}
    keys = [row["key"] for row in next(iter(known.values()))["main"]]
    rows = [["share of variance", *map(metric_name, known)]]
    for key in keys:
        rows.append([key_name(key), *(_share(_of(one["main"], "key", key)) for one in known.values())])
    pairs = [row["keys"] for row in (next(iter(known.values()))["interactions"] or [])]
    pairs.sort(key=lambda pair: -max(_of(one["interactions"], "keys", pair)["mean"] for one in known.values()))
    for pair in pairs[:_MOST_INTERACTIONS]:
        label = " x ".join(map(key_name, pair))
        rows.append([label, *(_share(_of(one["interactions"], "keys", pair)) for one in known.values())])
    same = [metric_name(name) for name, one in effects.items() if not one]
    lines = aligned(rows)
    if same:
        lines.append(f"{', '.join(same)}: the same in all configurations")
    return "\n".join(lines) + "\n"


def _of(rows: Sequence[Mapping[str, Any]], name: str, value: object) -> Mapping[str, Any]:
    share: Mapping[str, Any] = next(row["share"] for row in rows if row[name] == value)
    return share


def _share(share: Mapping[str, Any]) -> str:
    if share["low"] is None:
        return f"{share['mean']:.0%}"
    return f"{share['mean']:.0%} ({share['low']:.0%} to {share['high']:.0%})"


def _indices(name: str, indices: Sequence[Mapping[str, Any]]) -> str:
    rows = [[f"Sobol indices of {metric_name(name)}", "alone", "with interactions"]]
    rows += [[key_name(row["key"]), *(_index(row[order]) for order in ("first", "total"))] for row in indices]
    return "\n".join(aligned(rows)) + "\n"


def _index(value: Mapping[str, float]) -> str:
    return f"{value['mean']:.2f} ({value['low']:.2f} to {value['high']:.2f})"


def _front(found: Mapping[str, Any]) -> str:
    rows = found["front"]
    names = [name for name in rows[0] if name not in ("configuration", "probability")]
    head = f"Pareto front of {', '.join(map(metric_name, names))}: {len(rows)} of {found['configurations']} configurations"
    lines = [head]
    for row in rows[:_FEW]:
        values = ", ".join(value_text(name, row[name]) for name in names)
        lines.append(_shortened(f"  {row['configuration']}: {values}"))
    if len(rows) > _FEW:
        lines.append(f"  ... {len(rows) - _FEW} more")
    lines += [_shortened(f"  exact tie: {'; '.join(group)}") for group in found["ties"][:_FEW]]
    return "\n".join(lines) + "\n"
