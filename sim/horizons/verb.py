"""Subcommand `grow`: months of growth of a store, in simulated windows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.sim.commands.answers import (
    add_answer_options,
    add_store_options,
    give_answer,
    output_directory,
    run_options,
)
from lsmlab.sim.commands.arguments import LineParser
from lsmlab.sim.commands.many import report_failures, run_jobs
from lsmlab.sim.decisions.subject import read_subject
from lsmlab.sim.horizons.answer import FILE, growth_answer
from lsmlab.sim.horizons.measured import measure
from lsmlab.sim.horizons.text import answer_text
from lsmlab.sim.horizons.windows import Horizon, check_comparable, full_config, load_of, usual_warm_s, window_configs
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.sim.runs.batch import Job, Outcome

FINISHERS: Final = "lsmlab.growth_finishers"
"""Entry points `(directory: Path) -> Path | None` that may draw a page of an answer."""
_FULL: Final = "full"


def grow(argv: list[str]) -> int:
    """Run `lsmlab grow RUN --horizon TIME`; return the exit code. Raises InputError for bad input."""
    given = _parser().parse_args(argv)
    window_s, length_s = _seconds(given.window, "--window"), _seconds(given.horizon, "--horizon")
    config = read_subject(given.run, given.set, given.config_dir).compose()
    load = load_of(config)
    warm_s = _seconds(given.warm, "--warm") if given.warm else usual_warm_s(load, length_s, given.windows, window_s)
    horizon = Horizon(length_s, given.windows, warm_s, window_s)
    directory = output_directory(given.out)
    results = run_jobs(_jobs(config, horizon, directory, check=given.check), run_options(given), directory, quiet=given.json)
    if results is None:
        return INTERRUPTED
    if failed := report_failures(results):
        return failed
    answer = _answer(given.run, config, horizon, results)
    return give_answer(answer, directory / FILE, answer_text, given, FINISHERS)


def _jobs(config: dict[str, object], horizon: Horizon, directory: Path, *, check: bool) -> list[Job]:
    names = [f"window_{number}" for number in range(1, horizon.count + 1)]
    jobs = [Job(name, own, directory / name) for name, own in zip(names, window_configs(config, horizon), strict=True)]
    if not check:
        return jobs
    check_comparable(config)
    return [*jobs, Job(_FULL, full_config(config, horizon), directory / _FULL)]


def _answer(name: str, config: dict[str, object], horizon: Horizon, results: Sequence[Outcome]) -> dict[str, object]:
    folders = [outcome.folder for outcome in results]
    first, last = horizon.warm_s, horizon.warm_s + horizon.window_s
    found = [measure(folder, first, last) for folder in folders[: horizon.count] if folder is not None]
    full, whole = None, folders[-1] if len(folders) > horizon.count else None
    if whole is not None:
        full = [measure(whole, begin_s + first, begin_s + last) for begin_s in horizon.begins_s]
    endurance = ((results[0].summary or {}).get("device") or {}).get("endurance_bytes")
    return growth_answer(name, horizon, load_of(config), found, full, endurance)


def _seconds(text: str, option: str) -> float:
    """Return a time such as 10min or 180d in s. Raises InputError for any other text."""
    try:
        value = parse_quantity(text, "seconds")
    except InputError as error:
        raise InputError(f"{option} {text}: {error}") from None
    if value < 10.0:
        raise InputError(f"{option} {text}: must be at least 10 s")
    return float(value)


def _parser() -> argparse.ArgumentParser:
    parser = LineParser(
        prog="lsmlab grow", allow_abbrev=False,
        description="Show how a store ages over months: simulate windows at several ages, each from a tree of the size reached.",
        epilog="example: lsmlab grow experiment=growth --set workload.rate=10k --horizon 180d",
    )  # fmt: skip
    add_store_options(parser)
    parser.add_argument("--horizon", required=True, metavar="TIME", help="time of growth, such as 180d or 12h")
    parser.add_argument("--windows", type=int, default=7, metavar="N", help="number of windows (default: 7)")
    parser.add_argument("--window", default="10min", metavar="TIME", help="measured time of a window (default: 10min)")
    parser.add_argument("--warm", metavar="TIME", help="simulated time before it (default: clients write 30 %% of the keys)")
    parser.add_argument("--check", action="store_true", help="simulate the whole horizon too, and give the errors of the windows")
    add_answer_options(parser)
    return parser
