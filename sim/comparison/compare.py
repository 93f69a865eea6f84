"""Subcommand `compare`: the combinations of comma lists and variants, simulated in parallel and shown side by side."""

from __future__ import annotations

import itertools
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from lsmlab.models.errors import InputError
from lsmlab.sim.commands import finishers
from lsmlab.sim.commands.arguments import Arguments, parse
from lsmlab.sim.commands.many import report_failures, run_jobs
from lsmlab.sim.commands.replications import seeded
from lsmlab.sim.commands.verbs import finish, results_directory, with_options_file
from lsmlab.sim.comparison.answer import FILE, Member, comparison_answer
from lsmlab.sim.comparison.words import sum_up
from lsmlab.sim.configuration.combinations import combinations, folder_names, read_variants, without_quotes
from lsmlab.sim.configuration.compose import composer
from lsmlab.sim.configuration.trust import allow_packages, trusting
from lsmlab.sim.decisions.differences import Trial
from lsmlab.sim.results.jsontext import write_json
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.sim.runs.batch import Job, Outcome
from lsmlab.sim.runs.index import IndexedRun, publish
from lsmlab.sim.runs.typed import parameters

_MOST_SENTENCES: Final = 3
"""Largest number of runs whose differences the terminal sums up; comparison.json and the page have those of all."""


def compare(argv: list[str]) -> int:
    """Simulate all combinations of the comma lists in the overrides, in parallel; print the results side by side."""
    arguments = parse(argv)
    if arguments.hydra_flags:
        if {"-h", "--help"} & set(arguments.hydra_flags):
            sys.stdout.write(_HELP)
            return 0
        raise InputError(f"{arguments.hydra_flags[0]} belongs to 'lsmlab run'; compare takes comma lists by itself")
    with trusting(arguments.trust):
        done = simulated(arguments)
        return INTERRUPTED if done is None else _show(done, arguments)


class Compared(NamedTuple):
    """A comparison whose runs have ended."""

    directory: Path
    outcomes: list[Outcome]
    """Outcomes of all runs; the first ones are those of the first seed of each configuration, in order."""
    finished: list[Outcome]
    """Finished runs of the first seeds."""
    answer: dict[str, Any] | None
    """Content of comparison.json; None for variants, and if no configuration finished."""
    config: dict[str, Any]
    """First configuration."""


def simulated(arguments: Arguments) -> Compared | None:
    """Simulate all combinations of the comma lists and compare them; None after an interruption."""
    allow_packages(arguments.allow_packages)
    variants = read_variants(arguments.variants) if arguments.variants is not None else None
    selected = combinations(with_options_file(arguments), variants)
    with composer(arguments.config_dirs) as compose:
        composed = [compose(combination.overrides) for combination in selected]
    directory, _ = results_directory(arguments, composed[0])
    if variants is not None:
        write_json(directory / "variants.json", variants.as_json())
    else:
        (directory / "variants.json").unlink(missing_ok=True)  # from an earlier comparison in the same folder
    config = {**composed[0].config, "json": arguments.json or bool(composed[0].config.get("json"))}
    firsts = [
        Job(name, c.config, directory / name, choices := without_quotes(combination.chosen), parameters(c.config, choices))
        for name, c, combination in zip(folder_names([w.chosen for w in selected]), composed, selected, strict=True)
    ]
    others = [_replicas(job, arguments.replications or 1) for job in firsts]
    outcomes = run_jobs([*firsts, *itertools.chain(*others)], arguments, directory, quiet=config["json"])
    if outcomes is None:
        return None
    by_job = {id(outcome.job): outcome for outcome in outcomes}
    finished = [by_job[id(job)] for job in firsts if by_job[id(job)].error is None]
    members = [
        Member(job.name, job.choices, job.config, trial)
        for job, more in zip(firsts, others, strict=True)
        if (trial := _trial([by_job[id(j)] for j in (job, *more)], arguments.replications or 1)) is not None
    ]
    answer = comparison_answer(members) if members and variants is None else None
    if answer is not None:
        write_json(directory / FILE, answer)
    return Compared(directory, outcomes, finished, answer, config)


def _replicas(job: Job, count: int) -> list[Job]:
    """Return the further seeds of a configuration, and its runs with displaced constants, which stay in the run store."""
    if count < 2:
        return []
    several = seeded(job.config, count, Path())[1:]
    return [Job(f"{job.name}, {other.name}", other.config, None, job.choices, job.parameters) for other in several]


def _trial(outcomes: Sequence[Outcome], count: int) -> Trial | None:
    if any(outcome.error is not None for outcome in outcomes):
        return None
    summaries = [outcome.summary or {} for outcome in outcomes]
    return Trial(summaries[:count], summaries[count:])


def _show(done: Compared, arguments: Arguments) -> int:
    as_json = done.config["json"]
    if done.finished:
        runs = [IndexedRun(o.job.name, o.job.choices, o.summary or {}, o.job.parameters) for o in done.finished]
        text = _sentences(done.answer) if done.answer is not None else ""
        sys.stdout.write(publish(done.directory, runs, as_json=as_json, more={"comparison": done.answer}, text=text))
        sys.stdout.flush()
    failed = report_failures(done.outcomes)
    if not done.finished:
        return failed
    folders = [o.folder for o in done.finished if o.folder is not None]
    drawn = finish(arguments, done.config, finishers.COMPARISON, done.directory, folders)
    return failed or drawn


def _sentences(answer: Mapping[str, Any]) -> str:
    """Return a paragraph for each of the first runs on its differences from the first one."""
    first, *others = answer["runs"]
    texts = [sum_up(one["name"], first["name"], one["differences"]) for one in others[: _MOST_SENTENCES]]
    if texts and len(first["seeds"]) == 1:
        texts.append("(one seed each: --replications 5 adds the noise between seeds to the intervals)")
    lines = [textwrap.fill(text, 120, subsequent_indent="  ", break_on_hyphens=False) for text in texts]
    return "".join(f"{line}\n" for line in [*lines, ""]) if lines else ""


_HELP = """\
Simulate all combinations of comma lists and print their results side by side.

usage: lsmlab compare engine=a,b device=x,y [key=value ...] [options]

  --variants NAME     run each variant of configs/comparison/NAME.yaml (or of a file) in each of its settings
  --options FILE      take RocksDB's options from an OPTIONS file or a LOG (plain or .gz); overrides win
  --out DIR           folder for the results (default: outputs/<date>/<time>)
  --replications N    seeds of each configuration; differences get 90 % intervals (default: 1)
  -j, --jobs N        number of processes (default: one per core)
  --on PLACE          do the runs on N workers of a cluster (docs/how-to/run-on-a-cluster.md)
  --budget TIME       ask, or refuse to start, if the runs take longer, such as 10min
  --fresh             simulate again the runs that the run store (outputs/runs) already has
  --json              print only one JSON document; draw no page unless report=true
  --no-report         draw no comparison page
  --config-dir DIR    a folder with configuration groups of your own
  --allow-package P   let _target_ entries name classes of this package
  --trust             let files of others set everything, also Hydra's settings, which can run code

example: lsmlab compare engine=rocksdb,universal device=nvme,sata workload.duration=60s
"""
