"""Search for an advice: single changes, then pairs of the best options, then the best with all seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import format_bytes
from lsmlab.sim.commands.answers import Runner
from lsmlab.sim.decisions.advice import SHOWN, Trialled, pairs, ranked, trialled
from lsmlab.sim.decisions.candidates import Candidate, Kind, candidates, name_of
from lsmlab.sim.decisions.differences import Trial
from lsmlab.sim.decisions.goals import Limits, memory_bytes
from lsmlab.sim.decisions.subject import Subject
from lsmlab.sim.decisions.trials import trial_jobs, trial_of
from lsmlab.sim.runs.batch import Outcome

PRESENT: Final = "present state"
_SCREENED: Final = 2
"""Seeds of each change in the first round."""


@dataclass
class Search:
    """Rounds of one search, over the run store."""

    subject: Subject
    goal: str
    limits: Limits
    errors: Mapping[str, float]
    """The model's own errors by metric."""
    seeds: int
    run: Runner
    refused: dict[str, str] = field(default_factory=dict)
    """Changes that cannot run, with the reason."""

    def present(self) -> Trial:
        """Run the present state with all seeds."""
        jobs = trial_jobs([PRESENT], [self.subject.compose()], self.seeds)
        return trial_of(self.run(jobs), PRESENT, self.seeds)

    def singles(self, present: Trial) -> list[Trialled]:
        """Try each candidate with few seeds."""
        config = self.subject.compose()
        options = present.summaries[0]["options"]
        cores = float(present.summaries[0]["cpu"]["cores"])
        return self.round([(c,) for c in candidates(options, config, cores)], present, min(_SCREENED, self.seeds))

    def pairs(self, singles: Sequence[Trialled], present: Trial) -> list[Trialled]:
        """Try pairs of the best options with few seeds."""
        return self.round(pairs(singles, self.goal), present, min(_SCREENED, self.seeds))

    def best(self, found: Sequence[Trialled], present: Trial) -> list[Trialled]:
        """Run the best changes of each kind with all seeds and with displaced constants."""
        chosen: list[Trialled] = []
        for kind in Kind:
            helpful = [t for t in ranked(found, self.goal) if t.kind is kind and t.helps(self.goal)]
            chosen += helpful[: SHOWN if kind is Kind.OPTIONS else 1]
        return self.round([t.parts for t in chosen], present, self.seeds, displaced=True)

    def round(
        self, changes: Sequence[tuple[Candidate, ...]], present: Trial, seeds: int, *, displaced: bool = False
    ) -> list[Trialled]:
        """Run each change with the first `seeds` seeds and compare it with the present state.

        A change that RocksDB or the model refuses is left out and noted in `refused`; one that breaks the limit on memory
        does not run.
        """
        ready: list[tuple[tuple[Candidate, ...], Mapping[str, Any]]] = []
        for parts in changes:
            name = name_of(parts)
            try:
                config = self.subject.compose([text for p in parts for text in p.overrides])
                memory = memory_bytes(config)
            except InputError as error:
                self.refused[name] = str(error)
                continue
            if self.limits.memory_bytes is not None and memory > self.limits.memory_bytes:
                self.refused[name] = f"memtables and block cache of {format_bytes(memory)}"
                continue
            ready.append((parts, config))
        names = [name_of(parts) for parts, _ in ready]
        outcomes = self.run(trial_jobs(names, [config for _, config in ready], seeds, displaced=displaced))
        return self._compared(ready, outcomes, present, seeds, displaced)

    def _compared(
        self, ready: Sequence[tuple[tuple[Candidate, ...], Mapping[str, Any]]], outcomes: Sequence[Outcome],
        present: Trial, seeds: int, displaced: bool,
    ) -> list[Trialled]:  # fmt: skip
        before = Trial(present.summaries[:seeds], present.displaced if displaced else ())
        found = []
        for parts, config in ready:
            name = name_of(parts)
            try:
                after = trial_of(outcomes, name, seeds)
            except InputError as error:
                self.refused[name] = str(error)
                continue
            found.append(trialled(parts, before, after, memory_bytes(config), self.errors, self.limits))
        return found
