"""Subcommand `compare`: the combinations of comma lists and variants, simulated in parallel and shown side by side."""

from __future__ import annotations

import sys

from lsmlab.models.errors import InputError
from lsmlab.sim.commands import finishers
from lsmlab.sim.commands.arguments import Arguments, parse
from lsmlab.sim.commands.many import report_failures, run_jobs
from lsmlab.sim.commands.verbs import finish, results_directory, with_options_file
from lsmlab.sim.configuration.combinations import combinations, folder_names, read_variants, without_quotes
from lsmlab.sim.configuration.compose import composer
from lsmlab.sim.configuration.trust import allow_packages, trusting
from lsmlab.sim.results.jsontext import write_json
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.sim.runs.batch import Job
from lsmlab.sim.runs.choice import cluster
from lsmlab.sim.runs.index import IndexedRun, publish
from lsmlab.sim.runs.typed import parameters


def compare(argv: list[str]) -> int:
    """Simulate all combinations of the comma lists in the overrides, in parallel; print the results side by side."""
    arguments = parse(argv)
    if arguments.hydra_flags:
        if {"-h", "--help"} & set(arguments.hydra_flags):
            sys.stdout.write(_HELP)
            return 0
        raise InputError(f"{arguments.hydra_flags[0]} belongs to 'lsmlab run'; compare takes comma lists by itself")
    with trusting(arguments.trust), cluster(arguments.on, arguments.jobs):
        return _compare(arguments)


def _compare(arguments: Arguments) -> int:
    allow_packages(arguments.allow_packages)
    variants = read_variants(arguments.variants) if arguments.variants is not None else None
    selected = combinations(with_options_file(arguments), variants)
    with composer(arguments.config_dirs) as compose:
        composed = [compose(combination.overrides) for combination in selected]
    json_wanted = arguments.json or bool(composed[0].config.get("json"))
    directory, _ = results_directory(arguments, composed[0])
    if variants is not None:
        write_json(directory / "variants.json", variants.as_json())
    else:
        (directory / "variants.json").unlink(missing_ok=True)  # from an earlier comparison in the same folder
    jobs = [
        Job(name, c.config, directory / name, choices := without_quotes(combination.chosen), parameters(c.config, choices))
        for name, c, combination in zip(folder_names([w.chosen for w in selected]), composed, selected, strict=True)
    ]
    outcomes = run_jobs(jobs, arguments, directory, quiet=json_wanted)
    if outcomes is None:
        return INTERRUPTED
    done = [o for o in outcomes if o.error is None]
    if done:
        runs = [IndexedRun(o.job.name, o.job.choices, o.summary or {}, o.job.parameters) for o in done]
        sys.stdout.write(publish(directory, runs, as_json=json_wanted))
        sys.stdout.flush()
    failed = report_failures(outcomes)
    folders = [o.folder for o in done if o.folder is not None]
    if not done:
        return failed
    config = {**jobs[0].config, "json": json_wanted}
    drawn = finish(arguments, config, finishers.COMPARISON, directory, folders)
    return failed or drawn


_HELP = """\
Simulate all combinations of comma lists and print their results side by side.

usage: lsmlab compare engine=a,b device=x,y [key=value ...] [options]

  --variants NAME     run each variant of configs/comparison/NAME.yaml (or of a file) in each of its settings
  --options FILE      take RocksDB's options from an OPTIONS file or a LOG (plain or .gz); overrides win
  --out DIR           folder for the results (default: outputs/<date>/<time>)
  -j, --jobs N        number of processes (default: one per core)
  --on slurm|ray      do the runs on N workers of a cluster (docs/how-to/run-on-a-cluster.md)
  --budget TIME       ask, or refuse to start, if the runs take longer, such as 10min
  --fresh             simulate again the runs that the run store (outputs/runs) already has
  --json              print only one JSON document; draw no page unless report=true
  --no-report         draw no comparison page
  --config-dir DIR    a folder with configuration groups of your own
  --allow-package P   let _target_ entries name classes of this package
  --trust             let files of others set everything, also Hydra's settings, which can run code

example: lsmlab compare engine=rocksdb,universal device=nvme,sata workload.duration=60s
"""
