"""Subcommand `runs`: list, index or clean a run store or a folder of results."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lsmlab.models.errors import InputError
from lsmlab.reports.cli.arguments import LineParser
from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.results.reading import damage_as_input_error
from lsmlab.sim.results.rundir import display_path
from lsmlab.sim.runs.store import RunStore, default_store


def runs(argv: list[str]) -> int:
    """List the runs of a store or folder of results, rewrite its index, or remove the files of killed processes."""
    arguments = _parser().parse_args(argv)
    root = arguments.directory or default_store().root
    if not root.is_dir():
        raise InputError(f"{root}: no such folder; name a run store or a folder of results")
    with damage_as_input_error(root):
        return _runs(arguments, root)


def _runs(arguments: argparse.Namespace, root: Path) -> int:
    if arguments.action == "clean":
        count = RunStore(root).clean()
        sys.stdout.write(f"{count} unfinished runs of ended processes removed from {display_path(root)}\n")
        return 0
    from lsmlab.sim.runs.index import INDEX, read_failures, read_runs, write_index

    finished = list(read_runs(root))
    if arguments.action == "rebuild":
        write_index(root / INDEX, finished)
        sys.stdout.write(f"{display_path(root / INDEX)}: {len(finished)} runs\n")
        return 0
    failures = read_failures(root)
    if arguments.json:
        sys.stdout.write(to_json({
            "runs": [{"name": r.name, "engine": r.summary.get("engine"), "workload": r.summary.get("workload"),
                      "seed": r.summary.get("seed"), "parameters": r.parameters if r.choices else {}}
                     for r in finished],
            "failed": [{"name": name, "error": reason} for name, reason in failures],
        }))  # fmt: skip
        return 0
    for run in finished:
        labels = dict(run.choices) or {k: str(run.summary.get(k)) for k in ("engine", "workload", "seed")}
        sys.stdout.write(f"{run.name}  {', '.join(f'{k}={v}' for k, v in labels.items())}\n")
    for name, reason in failures:
        sys.stdout.write(f"{name}  failed: {reason}\n")
    return 0


def _parser() -> LineParser:
    parser = LineParser(
        prog="lsmlab runs",
        description="List, index or clean the runs of a run store or of a folder of results.",
        epilog="DIR defaults to the store that all commands share: $LSMLAB_RUNS, or else outputs/runs.",
    )
    parser.add_argument(
        "action",
        choices=("list", "rebuild", "clean"),
        help="list: print the runs; rebuild: rewrite runs.parquet; clean: remove unfinished runs of killed processes",
    )
    parser.add_argument("directory", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--json", action="store_true", help="with list: print only one JSON document")
    return parser
