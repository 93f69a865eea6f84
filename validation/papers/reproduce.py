"""The whole suite: which claims to check, and how, and the verdicts on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.progress import on_terminal, silent
from lsmlab.sim.studies.request import argument, option
from lsmlab.validation.checkout import ENGINE_DATA, source_tree_or_error
from lsmlab.validation.papers.released import Released, released
from lsmlab.validation.papers.runs import DEFAULT_PROCESSES, DEFAULT_SEEDS, SettingRun, run_settings
from lsmlab.validation.papers.suite import PAPERS, Paper, read_papers, settings_of
from lsmlab.validation.papers.verdict import FAILED, Found, counts, judge


@dataclass(frozen=True, kw_only=True)
class PapersRequest:
    """Simulate each published experiment in its published setting and compare the result with the paper's figure: reproduced (inside the accepted range), direction only, or not reproduced."""  # noqa: E501 (help text)

    papers: tuple[str, ...] = argument("PAPER", f"{', '.join(PAPERS)}; none: all", several=True, least=0)
    only: str | None = option(None, "claims whose id matches, such as 'vlsm.load_a.*'", metavar="PATTERN")
    overrides: tuple[str, ...] = option((), "an override for every run", "--set", metavar="key=value")
    seeds: int = option(DEFAULT_SEEDS, f"simulated runs per setting ({DEFAULT_SEEDS})", metavar="N", low=1)
    jobs: int = option(DEFAULT_PROCESSES, f"processes ({DEFAULT_PROCESSES})", "--jobs", "-j", metavar="N", low=1)
    fresh: bool = option(False, "simulate also runs that the run store (outputs/runs) contains")
    write_docs: bool = option(False, "write docs/papers.md for all papers")

    def chosen(self) -> list[Paper]:
        """Return the papers with the asked claims.

        Raises InputError for options that exclude each other, for missing recordings, and as `read_papers`.
        """
        self._check()
        return read_papers(self.papers, self.only)

    def _check(self) -> None:
        for text in self.overrides:
            if "=" not in text:
                raise InputError(f"--set {text}: not an override; write key=value")
        if not self.write_docs:
            return
        if self.papers or self.only or self.overrides:
            raise InputError("--write-docs: leave out papers, --only and overrides; the document contains all claims")
        source_tree_or_error("papers: --write-docs renews docs/papers.md of the source tree", "leave --write-docs out")
        if not ENGINE_DATA.is_dir():
            raise InputError(
                f"--write-docs needs the recorded runs of released code: the folder {ENGINE_DATA} is missing; add it"
            )


@dataclass(frozen=True)
class Reproduction:
    """Papers with the verdicts on their claims."""

    papers: Sequence[Paper]
    found: Sequence[Found]
    released_runs: Sequence[Released]
    """Recorded runs of released code and their simulations."""
    seeds: int
    """Simulated runs of each setting."""
    settings: Sequence[SettingRun] = ()

    @property
    def failures(self) -> list[Found]:
        """Claims that failed."""
        return [one for one in self.found if one.verdict == FAILED]

    def of(self, paper: Paper) -> list[Found]:
        """Return the claims of a paper."""
        return [one for one in self.found if one.paper == paper.name]

    def document(self) -> dict[str, Any]:
        """Return the document for --json and papers.json."""
        return {
            "claims": [one.as_json() for one in self.found],
            "papers": [{"name": p.name, "citation": p.citation, "headlines": list(p.headlines)} for p in self.papers],
            "verdicts": counts(self.found),
            "released": [r.as_json() for r in self.released_runs],
            "settings": [
                {"paper": r.paper, "name": r.setting.name, "overrides": list(r.setting.overrides), "wall_s": round(r.wall_s, 1),
                 "error": r.error}
                for r in self.settings
            ],
            "seeds": self.seeds,
        }  # fmt: skip


def reproduce(request: PapersRequest, papers: Sequence[Paper], folder: Path, *, quiet: bool) -> Reproduction:
    """Simulate the settings of the claims of `papers`, with one folder each in `folder`, and judge the claims.

    A setting that fails does not stop the others. `quiet`: print no progress.
    """
    say = silent if quiet else on_terminal
    runs = run_settings(
        settings_of(papers), request.seeds, request.jobs, folder, request.overrides, say, fresh=request.fresh, quiet=quiet
    )
    recorded: list[Released] = []
    if request.only is None and ENGINE_DATA.is_dir():
        counterparts = [one for paper in papers for one in paper.counterparts]
        recorded = released(counterparts, ENGINE_DATA, request.seeds, request.jobs, say, fresh=request.fresh)
    return Reproduction(papers, judge(papers, runs), recorded, request.seeds, list(runs.values()))
