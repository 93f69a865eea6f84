"""Command line: run a verb and report an error in one line.

Verbs are those of `VERBS`, and entry points of the group "lsmlab.verbs" of other packages.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any, Final, TextIO, cast

from lsmlab.models.errors import InputError
from lsmlab.models.text.printable import printable
from lsmlab.sim.results.stopping import INTERRUPTED, stoppable

VERBS: Final = {
    "run": ("cli.run:run", "simulate one configuration (-m for many)"),
    "compare": ("cli.compare:compare", "simulate combinations and compare them: compare engine=a,b device=x,y"),
    "whatif": ("decisions.whatif:WHATIF", "differences between a store (imported LOG or run) and alternatives to it"),
    "sweep": ("cli.sweep:sweep", "simulate many points of a space of settings: sweep device=nvme,sata KEY=16MiB..256MiB"),
    "results": ("cli.results:results", "select, group and sort the runs of a sweep, or plot them"),
    "advise": ("decisions.advice:ADVISE", "changes that would help a store, ranked, with an OPTIONS file"),
    "tune": ("decisions.tuning:TUNE", "search a space of settings for a goal under limits, with Optuna"),
    "list": ("cli.catalogue:list_verb", "list engines, devices, workloads, hosts or experiments"),
    "show": ("cli.catalogue:show_verb", "show one entry with its numbers and their sources"),
    "runs": ("cli.runs:runs", "list stored runs, rebuild their index, remove unfinished ones"),
    "plan": ("decisions.plan:PLAN", "find candidates that carry a growing load: rate, date, cost: plan PLAN.yaml"),
    "grow": ("decisions.growth:GROW", "months of growth of a store, in simulated windows: grow RUN --horizon 180d"),
    "report": ("cli.report:report", "write the report page of a finished run"),
    "lab": ("cli.lab:lab", "a local web page that simulates while sliders move"),
    "trace": ("cli.trace:trace", "write a finished run as a trace for Perfetto's viewer"),
    "course": ("cli.course:course", "lessons with predictions, exercises for students, and their grades"),
    "import": ("cli.import_log:import_log", "convert a real LOG into tables, a configuration and a report page"),
    "measure": ("cli.measure:measure_verb", "measure this machine's drive and cores, for machine=PATH of every verb"),
    "record": ("cli.record:record", "run real RocksDB for a case, on a device with known limits"),
    "calibrate": ("cli.calibrate:calibrate", "fit a machine's constants to recorded runs"),
    "validate": ("cli.validate:validate", "score the simulator on real runs"),
    "papers": ("cli.papers:papers", "run the published experiments and compare the figures"),
}
"""Subcommands: module of `lsmlab.reports` with a `StudyKind` or a function `(argv: list[str]) -> int`, and purpose.

Only the module of the called one is imported.
"""
_BAR: Final = r"\r|\x1b\[[KA]"
"""Control sequences of progress bars."""
EXIT_FAILED, EXIT_INPUT, EXIT_PIPE = 1, 2, 141


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code. `argv`: arguments after the program's name; None: `sys.argv[1:]`.

    Exit codes: 0 done; 1 failed; 2 bad input (one line on stderr names the error and the remedy); 130 interrupted (Ctrl-C
    or SIGTERM); 141 the reader of stdout has closed the pipe. With LSMLAB_TRACEBACK=1 an error also prints its traceback.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    _make_streams_writable()
    with _printable_streams():
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    try:
        with stoppable():
            code = _dispatch(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_stdout()
        return EXIT_PIPE
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. Finished runs are kept; the same command computes only the rest.\n")
        return INTERRUPTED
    except Exception as error:
        return _explain(error)
    return code


def _make_streams_writable() -> None:
    """Replace closed streams (`>&-`) by the null device, and let characters that LC_ALL=C lacks be printed as "?"."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


class _PrintableStream:
    """A text stream that shows control characters as escapes: names in files of others reach the terminal through it."""

    def __init__(self, stream: Any, kept: str = "") -> None:
        """`kept`: pattern of control sequences that are written as they are."""
        self._stream, self._kept = stream, re.compile(f"({kept})") if kept else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text; return the number of its characters."""
        parts = self._kept.split(text) if self._kept is not None else [text]
        self._stream.write("".join(part if i % 2 else printable(part) for i, part in enumerate(parts)))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)


@contextmanager
def _printable_streams() -> Iterator[None]:
    """Let all texts of a command pass `printable`; a progress bar may still return to the begin of its line."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast(TextIO, _PrintableStream(before[0])), cast(TextIO, _PrintableStream(before[1], _BAR))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(_help())
        return 0
    if arguments[0] in ("-V", "--version"):
        sys.stdout.write(f"lsmlab {version('lsmlab')}\n")
        return 0
    name, *rest = arguments
    if name == "--shell-completion":
        from lsmlab.reports.cli.completion import completion

        sys.stdout.write(completion(rest, list(_verbs()), _load))
        return 0
    verbs = _verbs()
    if name not in verbs:
        import difflib

        near = difflib.get_close_matches(name, verbs, n=1)
        remedy = f"did you mean 'lsmlab {near[0]}'?" if near else f"known verbs: {', '.join(verbs)}"
        raise InputError(f"{name}: no such verb; {remedy}")
    # threads of NumPy's OpenBLAS cost more than they save: fits of `lsmlab calibrate` took twice the time on two cores
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return int(_load(name)(rest))


def _verbs() -> dict[str, str]:
    """Return the purpose of each verb, or the module of a verb of another package."""
    others = {point.name: point.module for point in entry_points(group="lsmlab.verbs") if point.name not in VERBS}
    return {name: purpose for name, (_, purpose) in VERBS.items()} | dict(sorted(others.items()))


def _load(name: str) -> Callable[[list[str]], int]:
    if name in VERBS:
        module, _, attribute = VERBS[name][0].partition(":")
        found = getattr(import_module(f"lsmlab.reports.{module}"), attribute)
        if callable(found):
            return found  # type: ignore[no-any-return]
        from lsmlab.reports.cli.studies import answer

        return partial(answer, found)
    (point,) = entry_points(group="lsmlab.verbs", name=name)
    verb: Callable[[list[str]], int] = point.load()
    return verb


def _help() -> str:
    lines = [
        "LSMLab simulates an LSM-tree store's compactions and write stalls on a storage device.",
        "",
        "usage: lsmlab VERB [key=value ...] [options]",
        "",
    ]
    lines += [f"  {name:<12}{purpose}" for name, purpose in _verbs().items()]
    lines += [
        "",
        "  lsmlab VERB --help             arguments of a verb",
        "  lsmlab --version               version of LSMLab",
        "  lsmlab --shell-completion bash completion for bash, zsh or fish",
        "",
        "example: lsmlab run device=sata workload=fillrandom workload.duration=60s",
        "",
    ]
    return "\n".join(lines)


def _explain(error: Exception) -> int:
    """Print one line for an error that the user can fix and return its exit code; raise every other error again."""
    from lsmlab.sim.configuration.messages import one_line
    from lsmlab.sim.results.rundir import is_disk_full

    if os.environ.get("LSMLAB_TRACEBACK", "0") not in ("", "0"):
        import traceback

        traceback.print_exc()
    if is_disk_full(error):
        filename = getattr(error, "filename", None)
        place = f" ({filename})" if filename else ""
        text = f"the disk is full{place}; earlier results are untouched: free space or choose another --out DIR"
        code = EXIT_FAILED
    elif (message := one_line(error)) is not None:
        text, code = message, EXIT_INPUT
    elif isinstance(error, OSError):
        text, code = f"{error.filename or 'input or output'}: {error.strerror or error}", EXIT_FAILED
    else:
        raise error
    _abandon_stdout_if_full()
    sys.stderr.write(f"lsmlab: {text}\n")
    return code


def _abandon_stdout() -> None:
    """Redirect stdout to /dev/null, so that the interpreter's flush at exit raises no error."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    with Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), descriptor)


def _abandon_stdout_if_full() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _abandon_stdout()


if __name__ == "__main__":
    sys.exit(main())
