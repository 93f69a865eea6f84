"""Option `--budget`: refuse, or ask on a terminal, before work that takes longer than the user allows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.sim.commands.arguments import Arguments
from lsmlab.sim.configuration.trust import trusted_packages
from lsmlab.sim.runs.estimate import Estimate, duration_text, estimate, total
from lsmlab.sim.runs.key import run_key
from lsmlab.sim.runs.store import default_store


def read_budget(text: str) -> float:
    """Return a budget such as 10min or 90s in seconds. Raises InputError for any other text."""
    try:
        budget_s = parse_quantity(text, "seconds")
    except InputError as error:
        raise InputError(f"--budget {error}") from None
    if budget_s <= 0.0:
        raise InputError(f"--budget {text}: must be above 0, such as 10min")
    return budget_s


def keep_budget_of(
    configs: Iterable[Mapping[str, Any]], arguments: Arguments, remedy: str = "fewer or shorter runs", *, processes: int = 1
) -> None:
    """Return if the runs of `configs` that the run store lacks are within the budget of the command line (`keep_budget`)."""
    if arguments.budget is None:
        return
    budget_s, store = read_budget(arguments.budget), default_store()
    missing = [c for c in configs if arguments.fresh or store.find(run_key(c)) is None]
    cost = total(estimate(config, tuple(trusted_packages())) for config in missing)
    keep_budget(cost, budget_s, remedy, processes=min(processes, len(missing) or 1))


def keep_budget(
    cost: Estimate, budget_s: float | None, remedy: str, *, processes: int, ask: Callable[[str], str] = input,
    terminal: TextIO = sys.stdin,
) -> None:  # fmt: skip
    """Return if `cost` is within the budget, or if the user agrees on a terminal; else raise InputError.

    `remedy`: what makes the work smaller, such as "fewer candidates". `processes`: number of runs at the same time.
    """
    if budget_s is None:
        return
    if cost.seconds(processes) <= budget_s:
        return
    text = f"this takes {cost.text(processes)}, more than the budget of {duration_text(budget_s)}"
    if not terminal.isatty():
        raise InputError(f"{text}; raise --budget, or choose {remedy}")
    if ask(f"lsmlab: {text}. Continue? [y/N] ").strip().lower() not in ("y", "yes"):
        raise InputError(f"not started: {text}; raise --budget, or choose {remedy}")
