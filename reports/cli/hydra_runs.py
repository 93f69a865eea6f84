"""Runs through Hydra: its multirun (-m) and its flags (--cfg, --help, --info)."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from hydra.experimental.callback import Callback

if TYPE_CHECKING:
    from lsmlab.reports.cli.arguments import OutputOptions, RunOptions
    from omegaconf import DictConfig

_WIDTH: Final = 120
"""Line width of --help, in characters."""
_FRESH_ENV: Final = "LSMLAB_FRESH"
"""Environment variable that passes --fresh to the processes of a launcher."""
_DRIVER_ENV: Final = "LSMLAB_DRIVER"
"""Environment variable that passes the driver's process id to the processes of a launcher."""
_OBJECTIVES_ENV: Final = "LSMLAB_OBJECTIVES"
"""Environment variable that passes --objective to them."""
_FIXED_ENV: Final = "LSMLAB_FIXED"
"""Environment variable that passes the keys of the overrides that all runs of a sweep share."""
OBJECTIVES: Final = ("ops_per_s",)
"""Values that a sweeper optimizes unless the user names others."""


def through_hydra(
    overrides: Sequence[str], flags: Sequence[str], *, fresh: bool = False, objectives: Sequence[str] = OBJECTIVES
) -> int:
    """Run a command line through Hydra and return the exit code. `overrides` have passed `compose.prepare`.

    `objectives`: keys of summary.json whose values a sweeper such as Optuna's optimizes. Raises Hydra's errors unchanged;
    the dispatcher turns them into messages.
    """
    from hydra import main
    from hydra.core.global_hydra import GlobalHydra
    from lsmlab.sim.configuration.overrides import literal, parsed
    from lsmlab.sim.runs.store import default_store

    default_store().clean()
    fixed = [one.key_or_group for one in parsed(overrides) if not one.is_sweep_override()]
    environment = {**_passed(), _OBJECTIVES_ENV: ",".join(objectives), _FIXED_ENV: ",".join(fixed)}
    environment |= {_FRESH_ENV: "1"} if fresh else {}
    passed = [f"++hydra.job.env_set.{name}={literal(value)}" for name, value in environment.items()]
    previous = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with _as_command_line(["lsmlab run", *flags, *overrides, *passed]), _tidy_help(flags):
            main(version_base="1.3", config_path="pkg://lsmlab.configs", config_name="config")(task)()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        GlobalHydra.instance().hydra = previous
    return 0


def _passed() -> dict[str, str]:
    """Return the environment variables that runs need: workers of Slurm and Ray may not have the environment of the command."""
    from lsmlab.sim.runs.store import PLACE_ENV, default_store

    trusted = {name: os.environ[name] for name in ("LSMLAB_ALLOW_PACKAGES", "LSMLAB_TRUST") if name in os.environ}
    return {PLACE_ENV: str(default_store().root), _DRIVER_ENV: str(os.getpid()), **trusted}


@contextlib.contextmanager
def _tidy_help(flags: Sequence[str]) -> Iterator[None]:
    """Remove names that `group=entry` cannot select (parts of entries, comparisons) from --help; wrap long lines."""
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
    """Put `arguments` into sys.argv for Hydra, and make it raise errors instead of printing them."""
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


def task(config: DictConfig) -> float | list[float] | None:
    """Put the results of one run of a sweep into Hydra's output directory, from the run store if it has them.

    Returns the objectives, for a sweeper that optimizes them. Bad input is written to error.txt in the directory, and the
    other runs continue; `Index` reports it at the end of the sweep. A sweeper that optimizes gets the error instead, and
    decides by its max_failure_rate.
    """
    from hydra.core.hydra_config import HydraConfig
    from lsmlab.reports.cli.launched import objective_values, run_launched
    from lsmlab.sim.configuration.interpolations import check_interpolations
    from lsmlab.sim.runs.worker import end_with_parent_of
    from omegaconf import OmegaConf

    if driver := os.environ.get(_DRIVER_ENV):
        end_with_parent_of(int(driver))
    hydra = HydraConfig.get()
    check_interpolations(cast(dict[str, Any], OmegaConf.to_container(config, resolve=False)))
    plain = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))
    directory = Path(hydra.runtime.output_dir)
    fixed = os.environ.get(_FIXED_ENV, "").split(",")
    run_launched(directory, plain, cast(dict[str, Any], hydra), fixed, fresh=bool(os.environ.get(_FRESH_ENV)))
    if str(hydra.sweeper._target_).endswith(".BasicSweeper"):
        return None
    names = os.environ.get(_OBJECTIVES_ENV, "").split(",")
    values = objective_values(directory, [name for name in names if name] or OBJECTIVES)
    return values[0] if len(values) == 1 else values


class Index(Callback):
    """Hydra callback that writes runs.parquet and prints the table of a sweep after its last run.

    With every launcher, Hydra calls it in the process that started the sweep.
    """

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Collect the results of all runs; exit with code 1 if a run failed."""
        from lsmlab.reports.cli.launched import sweep_results
        from lsmlab.sim.runs.index import publish

        root = Path(config.hydra.sweep.dir)
        runs, failures = sweep_results(root)
        if runs:
            sys.stdout.write(publish(root, runs, as_json=bool(config.get("json"))))
            sys.stdout.flush()
        for name, reason in failures:
            sys.stderr.write(f"lsmlab: run {name} failed: {reason}\n")
        if not (runs or failures):
            sys.stderr.write(f"lsmlab: no run left results in {root}; do all nodes see this folder?\n")
        if failures or not runs:
            # Hydra turns exceptions of callbacks into warnings, so only SystemExit sets the exit code.
            raise SystemExit(1)


def sweep_overrides(
    overrides: Sequence[str], runs: RunOptions, output: OutputOptions, root: Path | None
) -> list[str]:
    """Translate LSMLab's options into overrides; `root`: folder of a sweep, absolute because workers run in other folders."""
    from lsmlab.sim.configuration.overrides import literal, override_key

    chosen = ["json=true"] if output.json else []
    chosen += ["report=false"] if output.no_report else []
    if root is not None:
        chosen.append(f"hydra.sweep.dir={literal(str(root.absolute()))}")
    elif output.out is not None:
        chosen.append(f"hydra.run.dir={literal(str(output.out))}")
    if runs.jobs is not None and not any(override_key(text) == "hydra/launcher" for text in overrides):
        chosen.append(f"hydra.launcher.n_jobs={runs.jobs}")
    if output.json or not sys.stderr.isatty():
        chosen.append("hydra.hydra_logging.root.level=WARNING")
    return chosen
