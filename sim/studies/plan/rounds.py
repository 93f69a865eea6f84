"""Runs of a plan in rounds: each round is one study of the run that every open search asks for next."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.run_progress import RunProgress
from lsmlab.sim.runs.store import StoredTable
from lsmlab.sim.runs.task import reason_of
from lsmlab.sim.studies.plan.budget import BudgetEndedError, TimedExecutor, check_time
from lsmlab.sim.studies.study import RunRow, Study, Variant

T = TypeVar("T")
Steps = Generator[Mapping[str, Any], RunRow, T]
"""A search: yields the configuration of the run that it needs next, gets the row of this run, and returns its result."""
USUAL_RUNS: Final = 12
"""Runs of a usual search, most of them longer than the shortest (measured: 8 to 17)."""


@dataclass
class PlanRuns:
    """Runs of one search."""

    count: int = 0
    simulated: int = 0
    """Runs that were not in the store."""

    def run(self, config: Mapping[str, Any]) -> Steps[tuple[Mapping[str, Any], StoredTable]]:
        """Return summary and series of a configuration."""
        row = yield config
        assert row.summary is not None
        assert row.folder is not None
        self.count += 1
        self.simulated += not row.kept
        return row.summary, StoredTable(row.folder / "series.parquet")


def carry_out(searches: Mapping[str, Steps[T]], runs: Settings) -> dict[str, T | str]:
    """Return the result of each search by name, or the reason why one of its runs failed.

    When the budget of `runs` ends, every search gets BudgetEndedError, and returns what it knows.
    """
    results: dict[str, T | str] = {}
    wanted: dict[str, Mapping[str, Any]] = {}
    numbers, done = {name: number for number, name in enumerate(searches)}, dict.fromkeys(searches, 0)
    progress = RunProgress(len(searches), quiet=runs.quiet or not searches, noun="searches")

    def end(name: str, result: T | str) -> None:
        results[name] = result
        progress.ended(numbers[name])

    def go_on(name: str, row: RunRow | None) -> None:
        try:
            wanted[name] = searches[name].send(row)  # type: ignore[arg-type]  # None starts a generator
        except StopIteration as stop:
            end(name, stop.value)
        except Exception as error:
            end(name, reason_of(error))

    def stop(name: str) -> None:
        try:
            searches[name].throw(BudgetEndedError())
        except StopIteration as stopped:
            end(name, stopped.value)

    timed = runs if runs.until_s is None else replace(runs, executor=TimedExecutor(runs.executor, runs.until_s))
    try:
        for name in searches:
            go_on(name, None)
        while wanted:
            check_time(runs.until_s)
            study = Study({name: Variant(config) for name, config in wanted.items()}, perturbed=False)
            wanted.clear()
            for row in study.rows(replace(timed, quiet=True)):
                done[row.name] += 1
                progress.share(numbers[row.name], min(done[row.name], USUAL_RUNS - 0.5) / USUAL_RUNS)
                if row.error is not None:
                    end(row.name, row.error)
                else:
                    go_on(row.name, row)
    except BudgetEndedError:
        for name in searches:
            if name not in results:
                stop(name)
    finally:
        progress.close()
    return results
