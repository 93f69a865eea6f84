"""Decisions about a store: what-ifs, advice, searches, plans, sweeps; and stores from real LOGs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsmlab.answer import Answer
from lsmlab.models.errors import InputError
from lsmlab.reports.study_kind import StudyKind
from lsmlab.result import Result, imported_result, stored_result
from lsmlab.session import Overrides, input_errors, results_folder, runs, texts

if TYPE_CHECKING:
    from lsmlab.reports.page import Page
    from lsmlab.sim.studies.advise import Advice
    from lsmlab.sim.studies.growth.grow import Growth
    from lsmlab.sim.studies.plan.answer import PlanAnswer
    from lsmlab.sim.studies.sweep.sweep import SweepAnswer
    from lsmlab.sim.studies.tune import Tuning
    from lsmlab.sim.studies.whatif import WhatIfAnswer

Store = str | Path | Result
"""Folder of `lsmlab import` or of a run, its Result, or an override such as "experiment=NAME"."""


def whatif(
    store: Store, *alternatives: str, changes: Overrides = (), replications: int = 5, jobs: int | None = None,
    out: str | Path | None = None, progress: bool = True,
) -> Answer[WhatIfAnswer]:  # fmt: skip
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
    from lsmlab.reports.decisions.whatif import WHATIF

    def page(answer: WhatIfAnswer, folder: Path) -> Page:
        _ = store.folder if isinstance(store, Result) else None  # the page draws the LOG's tables, too
        return WHATIF.page(answer, folder)

    return _asked(
        replace(WHATIF, page=page), jobs, out, progress, store=_store(store), alternatives=_words(alternatives),
        set=tuple(texts(changes)),
        replications=replications,
    )


def advise(
    store: Store, *, goal: str | None = None, memory: str | None = None, at_most: Mapping[str, str | float] | None = None,
    changes: Overrides = (), replications: int = 5, quick: bool = False, settled: bool | None = None, jobs: int | None = None,
    out: str | Path | None = None, progress: bool = True,
) -> Answer[Advice]:  # fmt: skip
    """Try changes of options, machine and policies, as `lsmlab advise` does; return those that help, ranked.

    Args:
        store: as in `whatif`.
        goal: throughput, p999 or another goal of `lsmlab advise --help`.
        memory: limit on memtables and block cache, such as "2GiB".
        at_most: further limits, such as {"space_amp": 1.5}.
        changes: overrides for all runs.
        replications: seeds of the best changes.
        quick: whether to answer in about two minutes, from the most promising changes with few seeds.
        settled: whether to lengthen all runs until the store has settled; by default, where nothing sets their duration.
        jobs: number of processes (default: one per core).
        out: folder for the files, among them an OPTIONS file; by default a temporary folder of this interpreter.
        progress: whether to show progress on stderr.

    Raises:
        InputError: the store, the goal or a limit is not possible.

    """
    from lsmlab.reports.decisions.advice import ADVISE

    return _asked(
        ADVISE, jobs, out, progress, store=_store(store), goal=goal, memory=memory, at_most=_bounds(at_most),
        set=tuple(texts(changes)), replications=replications, quick=quick, settled=settled,
    )


def tune(
    store: Store, *space: str, goal: str | None = None, memory: str | None = None,
    at_most: Mapping[str, str | float] | None = None, trials: int = 100, changes: Overrides = (), replications: int = 5,
    settled: bool | None = None, jobs: int | None = None, out: str | Path | None = None, progress: bool = True,
) -> Answer[Tuning]:  # fmt: skip
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
        settled: whether to lengthen all runs until the store has settled; by default, where nothing sets their duration.
        jobs: number of processes (default: one per core).
        out: folder for the files; by default a temporary folder of this interpreter.
        progress: whether to show progress on stderr.

    Raises:
        InputError: the store, the space, the goal or a limit is not possible, or Optuna is not installed.

    """
    from lsmlab.reports.decisions.tuning import TUNE

    return _asked(
        TUNE, jobs, out, progress, store=_store(store), space=_words(space), goal=goal, memory=memory,
        at_most=_bounds(at_most), trials=trials, set=tuple(texts(changes)), replications=replications,
        settled=settled,
    )


def plan(
    file: str | Path, *, jobs: int | None = None, out: str | Path | None = None, progress: bool = True
) -> Answer[PlanAnswer]:
    """Find the candidates of a plan (docs/reference/plan.md) that carry a growing load, as `lsmlab plan` does.

    Args:
        file: the plan, a YAML file.
        jobs: number of processes (default: one per core).
        out: folder for the files; by default a temporary folder of this interpreter.
        progress: whether to show progress on stderr.

    Raises:
        InputError: the plan has an error; the message names its key.

    """
    from lsmlab.reports.decisions.plan import PLAN

    return _asked(PLAN, jobs, out, progress, plan=Path(file))


def grow(
    store: Store, horizon: str, *, windows: int = 7, window: str = "10min", warm: str | None = None, check: bool = False,
    changes: Overrides = (), jobs: int | None = None, out: str | Path | None = None, progress: bool = True,
) -> Answer[Growth]:  # fmt: skip
    """Show how a store ages over months, in simulated windows, as `lsmlab grow` does.

    Args:
        store: as in `whatif`.
        horizon: time of growth, such as "180d".
        windows: number of windows.
        window: measured time of a window.
        warm: simulated time before it; by default, clients write 30 % of the keys.
        check: whether to simulate the whole horizon too, for the errors of the windows.
        changes: overrides for all runs.
        jobs: number of processes (default: one per core).
        out: folder for the files; by default a temporary folder of this interpreter.
        progress: whether to show progress on stderr.

    Raises:
        InputError: the store does not grow, or a time is not possible.

    """
    from lsmlab.reports.decisions.growth import GROW

    return _asked(
        GROW, jobs, out, progress, store=_store(store), horizon=horizon, windows=windows, window=window, warm=warm,
        check=check, set=tuple(texts(changes)),
    )


def sweep(
    *space: str, store: Store | None = None, design: str = "grid", points: int | None = None, replications: int = 1,
    objectives: Sequence[str] = (), settled: bool | None = None, jobs: int | None = None, out: str | Path | None = None,
    progress: bool = True,
) -> Answer[SweepAnswer]:  # fmt: skip
    """Simulate the points of a design over a space of settings, as `lsmlab sweep` does.

    `lsmlab.results(answer.folder)` returns one row per run as a DataFrame.

    Args:
        space: lists, ranges and fixed values, such as "device=nvme,sata" or "KEY=16MiB..256MiB".
        store: as in `whatif`; None: the default configuration.
        design: grid, random, lhs, sobol or saltelli.
        points: number of points; in a grid, values of each range.
        replications: seeds of each configuration.
        objectives: numbers of summary.json for the analysis, such as "max:ops_per_s".
        settled: whether to lengthen all runs until the store of the first point has settled; by default, where nothing sets
            their duration.
        jobs: number of processes (default: one per core).
        out: folder for the files; by default a temporary folder of this interpreter.
        progress: whether to show progress on stderr.

    Raises:
        InputError: a setting is not possible.

    """
    from lsmlab.reports.decisions.sweep import SWEEP

    words = [*([] if store is None else [_store(store)]), *_words(space)]
    answer: Answer[SweepAnswer] = _asked(
        SWEEP, jobs, out, progress, arguments=tuple(words), design=design, points=points, replications=replications,
        objective=tuple(objectives), settled=settled,
    )
    if answer.value.analysis is None:
        raise InputError(f"sweep: no run succeeded; the first: {answer.value.failures[0].reason}")
    return answer


def import_log(
    log: str | Path | Sequence[str | Path], options: str | Path | None = None, *, device: str | None = None,
    out: str | Path | None = None,
) -> Result:  # fmt: skip
    """Read a real RocksDB LOG, or all LOGs of a store, as `lsmlab import` does; return what happened as a Result.

    The result is a store for `whatif` and its like, without any file; its folder, which is written at its first use, can be
    simulated: `lsmlab.run(["experiment=imported"], config_dirs=[result.folder])`.

    Args:
        log: a LOG file, plain or compressed, or db_bench's output; the database's folder, whose LOG and LOG.old.* files are
            one history; or several LOG files of one store. A trace of its operations may be beside them.
        options: an OPTIONS file; by default the header of the LOG.
        device: kind of drive, such as nvme or sata; by default inferred from its fsyncs.
        out: folder for the files; by default they are only in memory.

    Raises:
        InputError: a file is unreadable or of another kind.

    """
    from lsmlab.validation.importer.importing import ImportRequest, read_store

    logs = (Path(log),) if isinstance(log, str | Path) else tuple(map(Path, log))
    request = ImportRequest(logs=logs, options=None if options is None else Path(options), device=device)
    folder = results_folder(out)
    with input_errors():
        store = read_store(request)
        if out is None:
            return imported_result(store, store.reading.path.name, folder)
        store.write(folder)
    return stored_result(folder, store.reading.path.name)


def _asked(kind: StudyKind[Any, Any], jobs: int | None, out: str | Path | None, progress: bool, **fields: Any) -> Answer[Any]:
    """Return the answer to a request with these fields. Raises InputError for bad input, KeyboardInterrupt after Ctrl-C."""
    with input_errors():
        request, folder = kind.request(**fields), results_folder(out)
        answer = kind.answer(request, runs(jobs, progress=progress), folder)
    return Answer(kind, answer, folder)


def _words(words: Sequence[str]) -> tuple[str, ...]:
    """Return arguments. Raises InputError for an option of the command line."""
    option = next((text for text in words if text.startswith("-")), None)
    if option is not None:
        raise InputError(f"{option}: options of the command line are keyword arguments here")
    return tuple(words)


def _store(store: Store) -> str:
    if isinstance(store, Result):
        return store.place or str(store.save(results_folder(None)))
    return _words([str(store)])[0]


def _bounds(at_most: Mapping[str, str | float] | None) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in (at_most or {}).items())
