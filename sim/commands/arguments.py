"""Options of `run` and `compare`, separated from Hydra's overrides and flags."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

from lsmlab.models.errors import InputError
from lsmlab.sim.runs.executor import PLACES

_HYDRA_FLAGS: Final = {
    "-h": 0, "--help": 0, "--hydra-help": 0, "-c": 1, "--cfg": 1, "--resolve": 0, "-p": 1, "--package": 1,
    "-r": 0, "--run": 0, "-m": 0, "--multirun": 0, "-sc": 0, "--shell-completion": 0, "-cp": 1, "--config-path": 1,
    "-cn": 1, "--config-name": 1, "--experimental-rerun": 1, "-i": 1, "--info": 1,
}  # fmt: skip
"""Number of values that each of Hydra's own flags takes."""
FOREIGN_FLAGS: Final = ("-cp", "--config-path", "-cn", "--config-name", "--experimental-rerun")
"""Flags of Hydra that load a whole configuration from a file, Hydra's own settings included."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Parsed command line of `run` or `compare`."""

    overrides: list[str]
    hydra_flags: list[str] = field(default_factory=list)
    """Flags that Hydra handles itself (--multirun, --cfg, --help …), with their values."""
    json: bool = False
    report: bool | None = None
    """False after --no-report; None: the configuration's key `report` decides."""
    out: Path | None = None
    options_file: Path | None = None
    replications: int | None = None
    jobs: int | None = None
    on: str | None = None
    """Cluster whose workers do the runs (`executor.PLACES`); None: this machine."""
    budget: str | None = None
    """Longest wall time of the runs, such as 10min; None: no limit."""
    fresh: bool = False
    """Simulate again the runs that are in the run store."""
    config_dirs: list[Path] = field(default_factory=list)
    allow_packages: list[str] = field(default_factory=list)
    trust: bool = False
    """Let configurations of others set everything, Hydra's own settings included."""
    objectives: list[str] = field(default_factory=list)
    """Keys of summary.json that Hydra's sweeper optimizes (`run -m` only)."""
    variants: str | None = None
    """Path of a file of variants, or its name in configs/comparison (`compare` only)."""

    @property
    def multirun(self) -> bool:
        """Whether --multirun is given."""
        return bool({"-m", "--multirun"} & set(self.hydra_flags))


def parse(argv: Sequence[str]) -> Arguments:
    """Parse a command line. Raises InputError for a bad value or an unknown option, with the nearest known option."""
    parser = _parser()
    parsed, rest = parser.parse_known_args(list(argv))
    overrides, flags = _split(rest, [s for a in parser._actions for s in a.option_strings])
    if parsed.replications is not None and parsed.replications < 1:
        raise InputError(f"--replications {parsed.replications}: at least 1 run is needed")
    if parsed.jobs is not None and parsed.jobs < 1:
        raise InputError(f"--jobs {parsed.jobs}: at least 1 process is needed")
    return Arguments(
        overrides=overrides,
        hydra_flags=flags,
        json=parsed.json,
        report=False if parsed.no_report else None,
        out=parsed.out,
        options_file=parsed.options,
        replications=parsed.replications,
        jobs=parsed.jobs,
        on=parsed.on,
        budget=parsed.budget,
        fresh=parsed.fresh,
        config_dirs=parsed.config_dir or [],
        allow_packages=parsed.allow_package or [],
        trust=parsed.trust,
        objectives=parsed.objective or [],
        variants=parsed.variants,
    )


class LineParser(argparse.ArgumentParser):
    """Argument parser that raises InputError instead of printing its usage and exiting."""

    def error(self, message: str) -> NoReturn:
        """Raise argparse's message as InputError."""
        words = message.removeprefix("argument ").replace("unrecognized arguments", "unknown")
        raise InputError(f"{words}; see '{self.prog} --help'")


def _parser() -> LineParser:
    parser = LineParser(prog="lsmlab run", add_help=False, allow_abbrev=False)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-report", action="store_true")
    parser.add_argument("--out", type=Path, metavar="DIR")
    parser.add_argument("--options", type=Path, metavar="FILE")
    parser.add_argument("--replications", type=int, metavar="N")
    parser.add_argument("-j", "--jobs", type=int, metavar="N")
    add_place(parser)
    parser.add_argument("--budget", metavar="TIME")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("-cd", "--config-dir", type=Path, action="append", metavar="DIR")
    parser.add_argument("--variants", metavar="NAME")
    parser.add_argument("--objective", action="append", metavar="KEY")
    parser.add_argument("--allow-package", action="append", metavar="NAME")
    parser.add_argument("--trust", action="store_true")
    return parser


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the option --on of commands that do many runs."""
    parser.add_argument(
        "--on", metavar="PLACE",
        help=f"do the runs on -j N workers of a cluster: {PLACES}; default: this machine",
    )  # fmt: skip


def _split(rest: list[str], own: list[str]) -> tuple[list[str], list[str]]:
    """Split the arguments that argparse did not take into overrides and Hydra's flags; `own` are LSMLab's options."""
    overrides: list[str] = []
    flags: list[str] = []
    pending = iter(rest)
    for text in pending:
        name, equals, _ = text.partition("=")
        if not text.startswith("-"):
            overrides.append(text)
        elif name in _HYDRA_FLAGS:
            flags.append(text)
            if _HYDRA_FLAGS[name] and not equals:
                value = next(pending, None)
                if value is None and name not in ("-i", "--info"):
                    raise InputError(f"{text}: a value is missing; see 'lsmlab run --help'")
                flags += [value] if value is not None else []
                if name in ("-c", "--cfg") and value not in ("job", "hydra", "all"):
                    raise InputError(f"{text} {value}: choose job, hydra or all")
        else:
            near = difflib.get_close_matches(name, [*own, *_HYDRA_FLAGS], n=1)
            remedy = f"did you mean {near[0]}?" if near else "see 'lsmlab run --help'"
            raise InputError(f"{text}: no such option; {remedy}")
    return overrides, flags
