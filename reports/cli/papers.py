"""The verb `lsmlab papers`."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import LineParser
from lsmlab.reports.cli.running import draw
from lsmlab.sim.progress import on_terminal, silent
from lsmlab.sim.results.jsontext import to_json, write_json
from lsmlab.sim.results.rundir import make_directory, unused_directory
from lsmlab.validation.checkout import ENGINE_DATA, source_tree_or_error
from lsmlab.validation.papers.document import write_document
from lsmlab.validation.papers.released import Released, released
from lsmlab.validation.papers.runs import DEFAULT_PROCESSES, DEFAULT_SEEDS, SettingRuns, run_settings
from lsmlab.validation.papers.suite import PAPERS, Paper, read_papers, settings_of
from lsmlab.validation.papers.text import claims_text
from lsmlab.validation.papers.verdict import FAILED, Found, counts, judge

_FAILED = 2


def papers(argv: list[str]) -> int:
    """Simulate the published experiments and compare the figures. Returns 0; 2 if a claim failed."""
    given = _parse(argv)
    chosen = read_papers(given.papers, given.only)
    with ExitStack() as stack:
        directory = _directory(given, stack)
        runs = run_settings(
            settings_of(chosen), given.seeds, given.jobs, directory, given.overrides,
            silent if given.json else on_terminal, fresh=given.fresh, quiet=given.json,
        )  # fmt: skip
        suite = _Suite(chosen, judge(chosen, runs), runs, _released_runs(given, chosen))
        return _show(given, directory, suite)


@dataclass(frozen=True, slots=True)
class _Suite:
    """Results of the suite."""

    papers: list[Paper]
    found: list[Found]
    runs: SettingRuns
    released_runs: list[Released]


@dataclass(slots=True)
class _Given:
    """Parsed command line."""

    papers: list[str]
    only: str | None
    overrides: list[str]
    seeds: int
    jobs: int
    json: bool
    report: bool
    docs: bool
    fresh: bool
    out: Path | None


def _parse(argv: list[str]) -> _Given:
    parser = LineParser(prog="lsmlab papers", description=_ABOUT, epilog=_EPILOG)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"{', '.join(PAPERS)}; none: all")
    parser.add_argument("--only", metavar="PATTERN", help="claims whose id matches, such as 'vlsm.load_a.*'")
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="an override for every run")
    parser.add_argument(
        "--seeds", type=int, default=DEFAULT_SEEDS, metavar="N", help=f"simulated runs per setting ({DEFAULT_SEEDS})"
    )
    parser.add_argument(
        "-j", "--jobs", type=int, default=DEFAULT_PROCESSES, metavar="N", help=f"processes ({DEFAULT_PROCESSES})"
    )
    parser.add_argument("--json", action="store_true", help="print only one JSON document")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of runs, page and JSON (outputs/papers-<time>)"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="simulate also runs that the run store (outputs/runs) contains"
    )
    parser.add_argument("--no-report", action="store_true", help="draw no page")
    parser.add_argument("--write-docs", action="store_true", help="write docs/papers.md for all papers")
    found = parser.parse_args(argv)
    if found.seeds < 1 or found.jobs < 1:
        raise InputError("--seeds and --jobs must be at least 1")
    for text in found.set:
        if "=" not in text:
            raise InputError(f"--set {text}: not an override; write key=value")
    if found.write_docs and (found.papers or found.only or found.set):
        raise InputError("--write-docs: leave out papers, --only and overrides; the document contains all claims")
    if found.write_docs:
        source_tree_or_error("papers: --write-docs renews docs/papers.md of the source tree", "leave --write-docs out")
    if found.write_docs and not ENGINE_DATA.is_dir():
        raise InputError(
            f"--write-docs needs the recorded runs of released code: the folder {ENGINE_DATA} is missing; add it"
        )
    return _Given(
        found.papers, found.only, found.set, found.seeds, found.jobs, found.json, not found.no_report, found.write_docs,
        found.fresh, found.out,
    )  # fmt: skip


def _directory(given: _Given, stack: ExitStack) -> Path:
    """Return the folder of the runs: --out, or a new folder in outputs; with only --json, a temporary folder."""
    if given.out is not None:
        return make_directory(given.out)
    if given.json:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lsmlab-papers-")))
    return unused_directory(Path("outputs") / f"papers-{datetime.now():%Y-%m-%d_%H-%M-%S}")


def _released_runs(given: _Given, papers: list[Paper]) -> list[Released]:
    """Return recorded runs of released code and their simulations; none with --only or if the data are missing."""
    if given.only is not None or not ENGINE_DATA.is_dir():
        return []
    counterparts = [one for paper in papers for one in paper.counterparts]
    return released(
        counterparts, ENGINE_DATA, given.seeds, given.jobs, silent if given.json else on_terminal, fresh=given.fresh
    )


def document(suite: _Suite, seeds: int) -> dict[str, Any]:
    """Return the document for --json and papers.json."""
    return {
        "claims": [one.as_json() for one in suite.found],
        "papers": [{"name": p.name, "citation": p.citation} for p in suite.papers],
        "verdicts": counts(suite.found),
        "released": [r.as_json() for r in suite.released_runs],
        "settings": [
            {"paper": r.paper, "name": r.setting.name, "overrides": list(r.setting.overrides), "wall_s": round(r.wall_s, 1),
             "error": r.error}
            for r in suite.runs.values()
        ],
        "seeds": seeds,
    }  # fmt: skip


def _show(given: _Given, directory: Path, suite: _Suite) -> int:
    content = document(suite, given.seeds)
    if given.out is not None or not given.json:
        write_json(directory / "papers.json", content)
    if given.docs:
        write_document(suite.papers, suite.found, suite.released_runs, given.seeds)
    if given.json:
        sys.stdout.write(to_json(content))
    else:
        sys.stdout.write(claims_text(suite.papers, suite.found, suite.released_runs, given.seeds))
        sys.stdout.write(f"\nSaved in {directory}, one folder per setting\n")
        if given.report:
            from lsmlab.reports.papers_page import draw_papers

            draw(lambda: draw_papers(directory))
    failed = [one for one in suite.found if one.verdict == FAILED]
    for one in failed if given.json else ():
        sys.stderr.write(f"lsmlab: {one.claim.id}: {one.error}\n")
    return _FAILED if failed else 0


_ABOUT = (
    "Simulate each published experiment in its published setting and compare the result with the paper's figure: "
    "reproduced (inside the accepted range), direction only, or not reproduced."
)
_EPILOG = (
    "Settings that several claims share are simulated once per seed. If a run fails, only its claims fail, and the "
    "exit code is 2. docs/papers.md contains the results of the last full run."
)
