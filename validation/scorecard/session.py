"""One session of the scorecard: which runs to score, and how, and the scorecard of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.progress import on_terminal, silent
from lsmlab.sim.studies.intervals import CHANGED, Knowledge, RunFacts, read_model_errors
from lsmlab.sim.studies.request import argument, option
from lsmlab.validation.casefiles.case import Case
from lsmlab.validation.checkout import ENGINE_DATA, OWN_CASES, PUBLIC_DATA, source_tree_or_error
from lsmlab.validation.scorecard.card import CATALOGUE, DEVELOPMENT, FROM_A_LOG, PUBLIC_2, WHAT_IFS, Scorecard
from lsmlab.validation.scorecard.catalogue_cases import as_catalogue
from lsmlab.validation.scorecard.model_errors import FOLDS, checksum, held, out_of_fold, write_model_errors
from lsmlab.validation.scorecard.runs import DEFAULT_PROCESSES, DEFAULT_SEEDS, CaseRun, run_cases
from lsmlab.validation.scorecard.score import error_values
from lsmlab.validation.scorecard.sources import (
    FURTHER_SETS,
    SETS,
    check_sets,
    gather_cases,
    gather_engines,
    gather_logs,
    gather_public,
    gather_second,
    replays,
)

_OF_DEVELOPMENT: Final = ("own", "public", PUBLIC_2)
"""Sets of recorded runs whose machine may be taken away (--knowledge catalogue)."""
_CATALOGUE_SEEDS: Final = 1
"""Seeds of the cases without their machine in the documents: the noise between seeds is small against their errors."""


@dataclass(frozen=True, kw_only=True)
class ValidateRequest:
    """Simulate measured runs of real RocksDB and score the results. Without --cases: the own recordings (validation/cases), the public runs, the recorded runs of other engines, reruns and what-ifs from LOGs alone, the exact replays and the theory checks."""  # noqa: E501 (help text)

    overrides: tuple[str, ...] = argument(
        "key=value", "overrides for every case, as for 'lsmlab run'", several=True, least=0
    )
    cases: Path | None = option(None, "score only the case.yaml files in and below DIR", metavar="DIR")
    only: tuple[str, ...] = option(
        (), "score only this set (may be repeated)", choices=(*SETS, *FURTHER_SETS)
    )
    more_overrides: tuple[str, ...] = option((), "one more override", "--set", metavar="key=value")
    match: tuple[str, ...] = option((), "score only cases with TEXT in their name", metavar="TEXT")
    knowledge: str = option(
        Knowledge.MEASURED.value, "catalogue: score the recorded runs with data sheet and default host alone (default: measured)",
        choices=(Knowledge.MEASURED.value, Knowledge.CATALOGUE.value),
    )
    seeds: int = option(DEFAULT_SEEDS, f"simulated runs per case ({DEFAULT_SEEDS})", metavar="N", low=1)
    jobs: int = option(DEFAULT_PROCESSES, f"processes ({DEFAULT_PROCESSES})", "--jobs", "-j", metavar="N", low=1)
    release: bool = option(False, "score the quarantine part as well")
    fresh: bool = option(False, "simulate also runs that the run store (outputs/runs) contains")
    write_docs: bool = option(False, "write docs/validation.md and validation/scorecard/baseline.json")
    ablate: bool = option(
        False, "refit and score all calibration runs without each part of the model (--match PART: only these parts)"
    )
    groups: Path | None = option(None, "write the errors by group of cases to FILE (Markdown)", metavar="FILE")
    public_data: Path = option(PUBLIC_DATA, "the folder public_runs", metavar="DIR")
    engines: Path = option(ENGINE_DATA, "the folder real_engines, or one of that form", metavar="DIR")

    @property
    def all_overrides(self) -> tuple[str, ...]:
        """Overrides of both forms."""
        return (*self.overrides, *self.more_overrides)

    @property
    def sets(self) -> tuple[str, ...]:
        """Sets to score."""
        if self.knowledge == Knowledge.CATALOGUE:
            return self.only or _OF_DEVELOPMENT
        return self.only or (() if self.cases is not None else (*SETS, PUBLIC_2) if self.write_docs else SETS)

    def check(self) -> None:
        """Raise InputError for options that exclude each other and for missing recordings."""
        for text in self.all_overrides:
            if "=" not in text:
                raise InputError(f"{text}: not an override; write key=value, or give the folder of cases with --cases")
        others = self.cases or self.write_docs or not set(self.only) <= set(_OF_DEVELOPMENT)
        if self.knowledge == Knowledge.CATALOGUE and others:
            raise InputError(
                f"--knowledge catalogue: scores the recorded runs {', '.join(_OF_DEVELOPMENT)}; leave out --cases, other sets "
                "and --write-docs, which scores these cases as well"
            )
        if self.write_docs:
            if self.cases or self.only or self.all_overrides or self.match:
                raise InputError("--write-docs: leave out --cases, --only, --match and overrides; it scores all cases")
            source_tree_or_error(
                "validate: --write-docs renews docs/validation.md of the source tree", "leave --write-docs out"
            )
        check_sets(self.sets, self.public_data)
        if self.write_docs and not self.public_data.is_dir():
            raise InputError(
                f"--write-docs needs the public runs: the folder {self.public_data} is missing; give it with --public-data"
            )


def score(request: ValidateRequest, *, quiet: bool) -> Scorecard:
    """Return the scorecard of the asked runs. A case that fails does not stop the others. `quiet`: print no progress.

    Raises InputError for a request that is not possible.
    """
    request.check()
    card = Scorecard(seeds=request.seeds)
    say = silent if quiet else on_terminal
    cases = _cases(card, request)
    parts = [(cases, request.seeds)]
    if request.knowledge == Knowledge.CATALOGUE:
        parts = [(_without_machine(card, cases), request.seeds)]
    elif request.write_docs:
        parts += [(_without_machine(card, cases), _CATALOGUE_SEEDS)]
    for several, seeds in parts:
        card.runs += run_cases(
            several, seeds, request.jobs, request.all_overrides, say, fresh=request.fresh, quiet=quiet
        )
    _with_errors(card, request)
    if "replay" in request.sets:
        replays(card, release=request.release)
    if "theory" in request.sets:
        from lsmlab.validation.scorecard.theory import all_checks

        card.theory = list(all_checks())
    return card


def _without_machine(card: Scorecard, cases: Sequence[tuple[str, Case]]) -> list[tuple[str, Case]]:
    """Return the development cases with data sheet and default host alone; the card notes those that do not compose."""
    found = []
    for name, case in cases:
        try:
            found += [(CATALOGUE, as_catalogue(case))] if name in DEVELOPMENT else []
        except InputError as error:
            card.unreadable.append((f"{case.name} (catalogue)", str(error)))
    return found


def _with_errors(card: Scorecard, request: ValidateRequest) -> None:
    """Give each run the errors for its intervals: those learnt without its fold, or the published ones.

    The published ones count for runs from which nothing is learnt, and for a choice of cases (--cases, --match).
    """
    for run in card.runs:
        run.facts = _facts(run)
    learning = [run for run in card.runs if _teaches(run)] if request.cases is None and not request.match else []
    values = [value for run in learning for value in error_values(run)]
    if request.write_docs:
        write_model_errors(values)
    published, by_fold = read_model_errors(), out_of_fold(values)
    for run in card.runs:
        run.errors = by_fold[checksum(run.group) % FOLDS] if learning and _teaches(run) else published
    card.held = held(values)


def _facts(run: CaseRun) -> RunFacts:
    """Return what a run knows of its own error, where its set says more of its machine than its configuration."""
    if run.set in FROM_A_LOG:
        known = {**run.facts.known, CHANGED: float(run.set == WHAT_IFS)}
        return replace(run.facts, knowledge=Knowledge.IMPORTED, known=known)
    return run.facts


def _teaches(run: CaseRun) -> bool:
    """Return whether the model's error is learnt from a run."""
    measured = run.set in DEVELOPMENT and run.facts.knowledge is Knowledge.MEASURED
    return run.error is None and (measured or run.set in (*FROM_A_LOG, CATALOGUE))


def _cases(card: Scorecard, request: ValidateRequest) -> list[tuple[str, Case]]:
    """Return (set, case) for the asked cases; the card notes what is left out or cannot be read."""
    cases = []
    if request.cases is not None:
        cases = gather_cases(card, request.cases, release=request.release)
    elif "own" in request.sets and OWN_CASES.is_dir():
        cases = gather_cases(card, OWN_CASES, release=request.release)
    if "public" in request.sets:
        cases += gather_public(card, request.public_data)
    if PUBLIC_2 in request.sets:
        cases += gather_second(card, request.public_data)
    if "real_engines" in request.sets:
        cases += gather_engines(card, request.engines)
    if "logs" in request.sets:
        cases += gather_logs(request.public_data)
    return [(name, case) for name, case in cases if not request.match or any(word in case.name for word in request.match)]
