"""Answer of `lsmlab grow` as text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from lsmlab.sim.results.comparison_text import in_columns
from lsmlab.sim.studies.growth.grow import QUANTITIES, Growth, GrowthWindow


def age_text(age_s: float) -> str:
    """Format an age of a store.

    >>> [age_text(s) for s in (90.0, 5400.0, 200000.0, 3e7)]
    ['1.5 min', '1.5 h', '2.31 d', '347 d']
    """
    for unit, length_s in (("d", 86400.0), ("h", 3600.0)):
        if age_s >= length_s:
            return f"{age_s / length_s:.3g} {unit}" if age_s < 100 * length_s else f"{age_s / length_s:.0f} {unit}"
    return f"{age_s / 60.0:.3g} min"


def growth_text(answer: Growth) -> str:
    """Return the table of windows, and the errors against the full run if there is one."""
    rows = answer.windows
    title = (
        f"{answer.store}: {age_text(answer.horizon_s)} of growth in {len(rows)} windows of "
        f"{age_text(answer.window_s)} after {age_text(answer.warm_s)} of warm-up; "
        f"{answer.simulated_s / answer.horizon_s:.2g} of the time is simulated"
    )
    heads = ["age", "keys", *(q.label for q in QUANTITIES.values()), "endurance used"]
    cells = [row_cells(row) for row in rows]
    lines = [title, "", *table_lines(heads, cells)]
    if answer.errors is not None:
        lines += ["", "Errors against one run over the whole horizon, at the same times:", ""]
        names = ["age", *(q.label for q in QUANTITIES.values())]
        lines += table_lines(names, [error_cells(answer, number) for number in range(len(rows))])
    return "\n".join(lines) + "\n"


def row_cells(row: GrowthWindow) -> list[str]:
    """Return the cells of a window: age, keys, numbers, share of the rated writes used."""
    used = row.endurance_used
    own = [q.text(getattr(row, name)) for name, q in QUANTITIES.items()]
    return [age_text(row.age_s), f"{row.keys / 1e6:,.4g} M", *own, "unknown" if used is None else f"{100 * used:.2g} %"]


def error_cells(answer: Growth, number: int) -> list[str]:
    """Return the age and the errors of a window."""
    errors = {name: values[number] for name, values in (answer.errors or {}).items()}
    return [age_text(answer.windows[number].age_s), *(error_text(name, error) for name, error in errors.items())]


def error_text(name: str, error: float | None) -> str:
    """Format the error of a number."""
    if error is None:
        return "unknown"
    return f"{100 * error:+.1f} {'points' if QUANTITIES[name].absolute else '%'}"


def table_lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table with right-aligned columns."""
    return in_columns([heads, *rows], left=())
