"""Compose, simulate and load runs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsmlab.models.errors import InputError
from lsmlab.result import Result, simulated_result, stored_result
from lsmlab.session import Overrides, input_errors, results_folder, runs, texts
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.options_input import with_options_file
from lsmlab.sim.progress import Progress, progress_bar
from lsmlab.sim.results.reading import damage_as_input_error

if TYPE_CHECKING:
    from lsmlab.comparison import Comparison

Folders = Sequence[str | Path]


def configure(
    overrides: Overrides = (), *, options: str | Path | None = None, config_dirs: Folders = ()
) -> dict[str, Any]:
    """Compose a configuration, as `lsmlab run` does, and return it as nested dictionaries.

    Args:
        overrides: changes to the default configuration, such as ["device=sata", "workload.duration=60s"] or one text.
        options: an OPTIONS file or a LOG with RocksDB's options; overrides win.
        config_dirs: folders with configuration groups of your own, or folders of `lsmlab import`.

    Raises:
        InputError: an unknown entry or key, or a value that is not possible; the message names the remedy.

    """
    if any(not isinstance(path, str | Path) for path in (*config_dirs, *([] if options is None else [options]))):
        raise InputError("configure: options and config_dirs are paths")
    with input_errors():
        found, notes = with_options_file(None if options is None else Path(options), texts(overrides))
        for note in notes:
            warnings.warn(note, stacklevel=2)
        return compose(found, config_dirs)


def run(
    configuration: Mapping[str, Any] | Overrides = (), *, options: str | Path | None = None, config_dirs: Folders = (),
    name: str | None = None, progress: Progress | bool = True,
) -> Result:  # fmt: skip
    """Simulate one configuration and return its result, without writing files.

    Args:
        configuration: overrides as in `configure`, or the mapping that `configure` returned.
        options: an OPTIONS file or a LOG with RocksDB's options, for overrides only.
        config_dirs: folders with configuration groups of your own, for overrides only.
        name: short name for legends; by default engine, device and workload.
        progress: True: a bar on a terminal; False: none; or a function of simulated time and end in seconds, which may
            raise an exception to cancel the run.

    Raises:
        InputError: the configuration is wrong.

    """
    from lsmlab.sim.simulation import Setting, simulate

    if isinstance(configuration, Mapping):
        config = dict(configuration)
        lacking = [key for key in ("engine", "device", "host", "workload", "keys") if key not in config]
        if lacking:
            raise InputError(f"run: the configuration has no {lacking[0]}; take the mapping that lsmlab.configure returns")
    else:
        config = configure(configuration, options=options, config_dirs=config_dirs)
    with input_errors():
        if callable(progress):
            return simulated_result(simulate(Setting.of(config), progress), name)
        with progress_bar(quiet=not progress) as bar:
            return simulated_result(simulate(Setting.of(config), bar), name)


def load(folder: str | Path) -> Result:
    """Return the result in the folder of a run, or of an imported LOG. Raises InputError if there is none."""
    with damage_as_input_error(Path(folder)):
        return stored_result(Path(folder))


def compare(
    overrides: Overrides, *, options: str | Path | None = None, config_dirs: Folders = (), replications: int = 1,
    jobs: int | None = None, out: str | Path | None = None, progress: bool = True,
) -> Comparison:  # fmt: skip
    """Simulate all combinations of comma lists with the same seeds, in parallel, as `lsmlab compare` does.

    Args:
        overrides: such as ["device=nvme,sata", "workload.duration=60s"] or one text.
        options: an OPTIONS file or a LOG with RocksDB's options; overrides win.
        config_dirs: folders with configuration groups of your own.
        replications: seeds of each configuration; two or more give intervals of the differences.
        jobs: number of processes (default: one per core); with 1, the runs are done in this process.
        out: folder for the files of all runs; by default a temporary folder of this interpreter.
        progress: whether to show progress on stderr.

    Raises:
        InputError: a configuration is wrong, or no run succeeded.

    """
    from lsmlab.comparison import compared
    from lsmlab.sim.studies.compare import CompareRequest

    return compared(
        CompareRequest(
            overrides=tuple(texts(overrides)), options=None if options is None else Path(options), replications=replications,
            config_dirs=tuple(Path(path) for path in config_dirs),
        ),
        runs(jobs, progress=progress), results_folder(out),
    )  # fmt: skip
