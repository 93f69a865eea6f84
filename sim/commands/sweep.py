"""Runs through Hydra: --multirun with a launcher or sweeper of Hydra's, and Hydra's own flags (--cfg, --help, --info)."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from hydra.experimental.callback import Callback

if TYPE_CHECKING:
    from omegaconf import DictConfig

_WIDTH: Final = 120
"""Of --help, in characters."""
_FRESH_ENV: Final = "LSMLAB_FRESH"
"""Environment variable that carries --fresh to the processes of a launcher."""


def through_hydra(overrides: Sequence[str], flags: Sequence[str], *, fresh: bool = False) -> int:
    """Hand a command line to Hydra; returns the exit code. `overrides` are prepared already.

    Raises Hydra's errors as they are, so that the dispatcher can word them.
    """
    from hydra import main
    from hydra.core.global_hydra import GlobalHydra

    if fresh:
        os.environ[_FRESH_ENV] = "1"
    before = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with _as_command_line(["lsmlab run", *flags, *overrides]), _tidy_help(flags):
            main(version_base="1.3", config_path="pkg://lsmlab.configs", config_name="config")(task)()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        GlobalHydra.instance().hydra = before
        os.environ.pop(_FRESH_ENV, None)
    return 0


@contextlib.contextmanager
def _tidy_help(flags: Sequence[str]) -> Iterator[None]:
    """Leave what no `group=entry` can name out of --help (parts of entries, comparisons' variants), and wrap the rest."""
    if not {"-h", "--help"} & set(flags):
        yield
        return
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            yield
    finally:
        entries = re.sub(r"^comparison: .*\n|(?<=: )(?:_\w+, )+", "", text.getvalue(), flags=re.M)
        sys.stdout.write("".join(_wrapped(line) for line in entries.splitlines(keepends=True)))


def _wrapped(line: str) -> str:
    if len(line) <= _WIDTH:
        return line
    return textwrap.fill(line, _WIDTH, subsequent_indent="  ", break_on_hyphens=False) + "\n"


@contextlib.contextmanager
def _as_command_line(arguments: list[str]) -> Iterator[None]:
    """Let Hydra find its command line where it looks for it, and raise errors instead of printing them."""
    old, full = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = arguments
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        yield
    finally:
        sys.argv = old
        if full is None:
            os.environ.pop("HYDRA_FULL_ERROR", None)
        else:
            os.environ["HYDRA_FULL_ERROR"] = full


def task(config: DictConfig) -> None:
    """One run of a sweep: puts its results into Hydra's output directory, from the run store if they are there.

    Bad input is written down there and the other runs go on; the end of the sweep reports it.
    """
    from hydra.core.hydra_config import HydraConfig
    from lsmlab.sim.commands.launched import Launched, run_launched
    from lsmlab.sim.configuration.compose import chosen_device
    from omegaconf import OmegaConf

    hydra = HydraConfig.get()
    device, folders = chosen_device(hydra)
    plain = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))
    run_launched(
        Launched(Path(hydra.runtime.output_dir), plain, list(hydra.overrides.task), device, folders),
        fresh=bool(os.environ.get(_FRESH_ENV)),
    )


class Index(Callback):
    """Hydra callback: writes runs.parquet and prints the table when all runs of a sweep have ended.

    It runs in the process that started the sweep, whatever launcher ran the jobs.
    """

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Gather what the runs left; ends the program with code 1 if some of them failed."""
        from lsmlab.sim.commands.launched import left_by_launcher
        from lsmlab.sim.runs.index import publish

        root = Path(config.hydra.sweep.dir)
        runs, failures = left_by_launcher(root)
        if runs:
            sys.stdout.write(publish(root, runs, as_json=bool(config.get("json"))))
            sys.stdout.flush()
        for name, reason in failures:
            sys.stderr.write(f"lsmlab: run {name} failed: {reason}\n")
        if failures:
            # Hydra turns exceptions of callbacks into warnings; ending the program is how one reports a failure.
            raise SystemExit(1)


def sweep_overrides(config: Mapping[str, bool | None], out: Path | None, *, quiet: bool) -> list[str]:
    """Our own options in Hydra's words: keys of the configuration, directories, and how much Hydra says."""
    from lsmlab.sim.configuration.compose import literal

    chosen = [f"{key}={literal(value)}" for key, value in config.items() if value is not None]
    if out is not None:
        chosen.append(f"hydra.run.dir={literal(str(out))}")
    if quiet:
        chosen.append("hydra.hydra_logging.root.level=WARNING")
    return chosen
