"""Decisions about a store: what-ifs, advice, searches, plans, sweeps; and stores from real LOGs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from lsmlab.answer import Answer, Kind
from lsmlab.models.errors import InputError
from lsmlab.result import Result, stored_result
from lsmlab.session import Overrides, results_folder, session, texts
from lsmlab.sim.results.stopping import INTERRUPTED
from lsmlab.streams import kept

Store = str | Path | Result
"""Folder of `lsmlab import` or of a run, its Result, or an override such as "experiment=NAME"."""


def whatif(
    store: Store, *alternatives: str, changes: Overrides = (), replications: int = 5, jobs: int | None = None,
    out: str | Path | None = None, progress: bool = True,
) -> Answer:  # fmt: skip
    """Simulate a store and alternatives to it with the same seeds, as `lsmlab whatif` does; return the differences.

    Args:
        store: folder of `lsmlab import` or of a run, its Result, or an override such as "experiment=NAME".
        alternatives: changes such as "device=sata" or "engine=vlsm host.cores=8"; comma lists give one each.
        changes: overrides for the present state and all alternatives.
        replications: seeds of each configuration.
        jobs: number of processes (default: one per core).
        out: folder for the files; by default a temporary folder of this interpreter.
        progress: whether to show progress on stderr.

    Raises:
        InputError: the store or a change is not possible.

    """
    line = [*_set(changes), "--replications", str(replications)]
    return _asked("whatif", [_store(store), *alternatives], line, jobs, out, progress=progress)


def advise(
    store: Store, *, goal: str | None = None, memory: str | None = None, at_most: Mapping[str, str | float] | None = None,
    changes: Overrides = (), replications: int = 5, jobs: int | None = None, out: str | Path | None = None, progress: bool = True,
) -> Answer:  # fmt: skip
    """Try changes of options, machine and policies, as `lsmlab advise` does; return those that help, ranked.

    Args:
        store: as in `whatif`.
        goal: throughput, p999 or another goal of `lsmlab advise --help`.
        memory: limit on memtables and block cache, such as "2GiB".
        at_most: further limits, such as {"space_amp": 1.5}.
        changes: overrides for all runs.
        replications: seeds of the best changes.
        jobs: number of processes (default: one per core).
        out: folder for the files, among them an OPTIONS file; by default a temporary folder of this interpreter.
        progress: whether to show progress on stderr.

    Raises:
        InputError: the store, the goal or a limit is not possible.

    """
    line = [*_set(changes), *_goal(goal, memory, at_most), "--replications", str(replications)]
    return _asked("advise", [_store(store)], line, jobs, out, progress=progress)


def tune(
    store: Store, *space: str, goal: str | None = None, memory: str | None = None,
    at_most: Mapping[str, str | float] | None = None, trials: int = 100, changes: Overrides = (), replications: int = 5,
    jobs: int | None = None, out: str | Path | None = None, progress: bool = True,
) -> Answer:  # fmt: skip
    """Search settings with Optuna, as `lsmlab tune` does; return the best point, checked with new seeds.

    Args:
        store: as in `whatif`.
        space: ranges and lists, such as "engine.options.write_buffer_size=8MiB..256MiB".
        goal: one goal, or several with commas.
        memory: limit on memtables and block cache, such as "2GiB".
        at_most: further limits, such as {"space_amp": 1.5}.
        trials: number of points to try.
        changes: overrides for all runs.
        replications: new seeds for the best point.
        jobs: number of processes (default: one per core).
        out: folder for the files; by default a temporary folder of this interpreter.
        progress: whether to show progress on stderr.

    Raises:
        InputError: the store, the space, the goal or a limit is not possible, or Optuna is not installed.

    """
    more = ["--trials", str(trials), "--replications", str(replications)]
    line = [*_set(changes), *_goal(goal, memory, at_most), *more]
    return _asked("tune", [_store(store), *space], line, jobs, out, progress=progress)


def plan(file: str | Path, *, jobs: int | None = None, out: str | Path | None = None, progress: bool = True) -> Answer:
    """Find the candidates of a plan (docs/reference/plan.md) that carry a growing load, as `lsmlab plan` does.

    Args:
        file: the plan, a YAML file.
        jobs: number of processes (default: one per core).
        out: folder for the files; by default a temporary folder of this interpreter.
        progress: whether to show progress on stderr.

    Raises:
        InputError: the plan has an error; the message names its key.

    """
    return _asked("plan", [str(file)], [], jobs, out, progress=progress)


def sweep(
    *space: str, store: Store | None = None, design: str = "grid", points: int | None = None, replications: int = 1,
    objectives: Sequence[str] = (), jobs: int | None = None, out: str | Path | None = None, progress: bool = True,
) -> Answer:  # fmt: skip
    """Simulate the points of a design over a space of settings, as `lsmlab sweep` does.

    `lsmlab.results(answer.folder)` returns one row per run as a DataFrame.

    Args:
        space: lists, ranges and fixed values, such as "device=nvme,sata" or "KEY=16MiB..256MiB".
        store: as in `whatif`; None: the default configuration.
        design: grid, random, lhs, sobol or saltelli.
        points: number of points; in a grid, values of each range.
        replications: seeds of each configuration.
        objectives: numbers of summary.json for the analysis, such as "max:ops_per_s".
        jobs: number of processes (default: one per core).
        out: folder for the files; by default a temporary folder of this interpreter.
        progress: whether to show progress on stderr.

    Raises:
        InputError: a setting is not possible.

    """
    words = [*([] if store is None else [_store(store)]), *space]
    line = ["--design", design, "--replications", str(replications)]
    line += [] if points is None else ["--points", str(points)]
    line += [text for objective in objectives for text in ("--objective", objective)]
    return _asked("sweep", words, line, jobs, out, progress=progress)


def import_log(
    log: str | Path, options: str | Path | None = None, *, device: str | None = None, out: str | Path | None = None
) -> Result:
    """Read a real RocksDB LOG, as `lsmlab import` does; return what happened in the store as a Result.

    The folder of the result can be simulated: `lsmlab.run(["experiment=imported"], config_dirs=[result.folder])`.

    Args:
        log: a LOG file, plain or compressed, or db_bench's output.
        options: an OPTIONS file; by default the header of the LOG.
        device: kind of drive, such as nvme or sata; by default inferred from its fsyncs.
        out: folder for the files; by default a temporary folder of this interpreter.

    Raises:
        InputError: a file is unreadable or of another kind.

    """
    from lsmlab.validation.importer import verb

    line = [str(log), *([] if options is None else [str(options)]), *([] if device is None else ["--device", device])]
    folder = results_folder(out)
    with session(), kept("stdout"):
        verb.import_log([*line, "--out", str(folder), "--no-report"])
    return stored_result(folder, Path(log).name)


def _asked(
    name: str, words: Sequence[str], line: list[str], jobs: int | None, out: str | Path | None, *, progress: bool
) -> Answer:
    """Run a command and return its answer. Raises InputError for bad input, KeyboardInterrupt after Ctrl-C.

    `words`: arguments without options; `line`: options.
    """
    option = next((text for text in words if text.startswith("-")), None)
    if option is not None:
        raise InputError(f"{option}: options of the command line are keyword arguments here")
    kind = _kind(name)
    folder = results_folder(out)
    line = [*words, *line]
    line = [*line, "--out", str(folder), "--no-report"]
    line += [] if jobs is None else ["--jobs", str(jobs)]
    line += [] if progress else ["--json"]
    with session(), kept("stdout", *([] if progress else ["stderr"])) as printed:
        code = kind.verb(line)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if not (folder / kind.file).is_file():
        reasons = "" if progress else printed["stderr"].getvalue().strip()
        raise InputError(reasons or f"{name}: no run succeeded; the messages above name the reasons")
    return Answer(name, kind, folder, json.loads((folder / kind.file).read_text(encoding="utf-8")))


def _kind(name: str) -> Kind:
    """Return the command of this name; imports only its own modules."""
    if name == "whatif":
        from lsmlab.reports.decisions.whatif_page import finish_whatif
        from lsmlab.sim.decisions import answer, text, whatif

        return Kind(whatif.whatif, answer.FILE, text.answer_text, finish_whatif)
    if name == "advise":
        from lsmlab.reports.decisions.advice_page import finish_advice
        from lsmlab.sim.decisions import advice_text, advise

        return Kind(advise.advise, advise.FILE, advice_text.advice_text, finish_advice)
    if name == "tune":
        from lsmlab.reports.decisions.tuning_page import finish_tuning
        from lsmlab.sim.tuning import text as tuning_text
        from lsmlab.sim.tuning import tune

        return Kind(tune.tune, tune.FILE, tuning_text.tuning_text, finish_tuning)
    if name == "plan":
        from lsmlab.reports.plan import page
        from lsmlab.sim.planning import answer as plan_answer
        from lsmlab.sim.planning import text as plan_text
        from lsmlab.sim.planning import verb

        return Kind(verb.plan, plan_answer.FILE, plan_text.answer_text, page.finish_plan)
    from lsmlab.reports.sweeps import sweep_page
    from lsmlab.sim.exploration import analysis, analysis_text, sweep_verb

    return Kind(sweep_verb.sweep, analysis.ANALYSIS, analysis_text.analysis_text, sweep_page.finish_sweep)


def _store(store: Store) -> str:
    if not isinstance(store, Result):
        return str(store)
    return str(store.folder if store.folder is not None else store.save(results_folder(None)))


def _set(changes: Overrides) -> list[str]:
    return [text for change in texts(changes) for text in ("--set", change)]


def _goal(goal: str | None, memory: str | None, at_most: Mapping[str, str | float] | None) -> list[str]:
    line = [] if goal is None else ["--goal", goal]
    line += [] if memory is None else ["--memory", memory]
    return line + [text for key, value in (at_most or {}).items() for text in ("--at-most", f"{key}={value}")]
