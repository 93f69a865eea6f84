"""One session of the scorecard: which runs to score, and how, and the scorecard of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.sim.progress import on_terminal, silent
from lsmlab.sim.studies.metrics import read_model_errors
from lsmlab.sim.studies.request import argument, option
from lsmlab.validation.casefiles.case import Case
from lsmlab.validation.checkout import ENGINE_DATA, OWN_CASES, PUBLIC_DATA, source_tree_or_error
from lsmlab.validation.scorecard.card import FROM_A_LOG, PUBLIC_2, WHAT_IFS, Scorecard
from lsmlab.validation.scorecard.model_errors import choose_learning_half, write_model_errors
from lsmlab.validation.scorecard.runs import DEFAULT_PROCESSES, DEFAULT_SEEDS, run_cases
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
    seeds: int = option(DEFAULT_SEEDS, f"simulated runs per case ({DEFAULT_SEEDS})", metavar="N", low=1)
    jobs: int = option(DEFAULT_PROCESSES, f"processes ({DEFAULT_PROCESSES})", "--jobs", "-j", metavar="N", low=1)
    release: bool = option(False, "score the quarantine part as well")
    fresh: bool = option(False, "simulate also runs that the run store (outputs/runs) contains")
    write_docs: bool = option(False, "write docs/validation.md and validation/scorecard/baseline.json")
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
        return self.only or (() if self.cases is not None else (*SETS, PUBLIC_2) if self.write_docs else SETS)

    def check(self) -> None:
        """Raise InputError for options that exclude each other and for missing recordings."""
        for text in self.all_overrides:
            if "=" not in text:
                raise InputError(f"{text}: not an override; write key=value, or give the folder of cases with --cases")
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
    card.runs = run_cases(
        _cases(card, request), request.seeds, request.jobs, request.all_overrides, say, fresh=request.fresh, quiet=quiet
    )
    if request.cases is None:
        choose_learning_half(card.runs)
    if request.write_docs:
        write_model_errors(card.runs)
    for run in card.runs:
        published = read_model_errors(
            from_a_log=run.set in FROM_A_LOG, changed=run.set == WHAT_IFS, parameters=run.parameters
        )
        run.model_errors = {**published, **run.set_errors}
    if "replay" in request.sets:
        replays(card, release=request.release)
    if "theory" in request.sets:
        from lsmlab.validation.scorecard.theory import all_checks

        card.theory = list(all_checks())
    return card


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
