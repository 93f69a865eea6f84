"""The store of a lesson in real RocksDB on this machine, beside its simulation; RocksDB's rate limiter is the device's limit."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import lsmlab
import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.reports import numbers
from lsmlab.reports.course.pictures import ShownFigure, lines
from lsmlab.reports.page import Page
from lsmlab.reports.parts import Part, Section, Story, Table, paragraph
from lsmlab.sim.yaml_text import read_yaml

_FILE: Final = Path(__file__).with_name("stores.yaml")
_TIME_S: Final = 120.0
_SPACE_BYTES: Final = 4_000_000_000
_ROWS: Final = (
    ("writes / s", "ops_per_s", numbers.count), ("write amplification", "write_amplification", numbers.ratio),
    ("time in stalls", "stall_fraction", numbers.percent), ("write P99", "write_latency_s.p99", numbers.seconds),
    ("longest write", "write_latency_s.max", numbers.seconds),
)  # fmt: skip


@dataclass(frozen=True)
class LessonStore:
    """Store of a lesson."""

    overrides: list[str]
    """Overrides of the whole configuration."""
    about: str
    """What it shows."""


@cache
def stores() -> dict[int, LessonStore]:
    """Return the store of each lesson that has one."""
    content = read_yaml(_FILE)
    return {one["lesson"]: LessonStore([*content["common"], *one["changes"]], one["about"]) for one in content["lessons"]}


@dataclass(frozen=True)
class Both:
    """Measured and simulated run of the same store: values by their names in summary.json, and writes of each second."""

    lesson: int
    measured: dict[str, Any]
    simulated: dict[str, Any]
    measured_per_s: list[float]
    simulated_per_s: list[float]

    def shown(self) -> ShownFigure:
        """Return the figure with the writes per second of both."""
        curves = {
            name: (list(range(1, len(values) + 1)), values)
            for name, values in (("RocksDB on this machine", self.measured_per_s), ("simulated", self.simulated_per_s))
        }
        caption = "Writes in each second: RocksDB on this machine, and the same store in the simulator."
        return lines(curves, title="Real and simulated writes", caption=caption, x="time (s)", y="writes / s")

    def table(self) -> Table:
        """Return the table of both runs."""
        rows = [(label, _cell(self.measured, name, form), _cell(self.simulated, name, form)) for label, name, form in _ROWS]
        return Table(["", "RocksDB here", "simulated"], rows)

    def apart(self) -> str:
        """Return a sentence on how far both runs are apart."""
        rate, w_amp = (self.simulated[name] / self.measured[name] - 1 for name in ("ops_per_s", "write_amplification"))
        longest = " and ".join(_cell(run, "write_latency_s.max", numbers.seconds) for run in (self.simulated, self.measured))
        return (
            f"The simulation does {_more(rate)} writes per second than RocksDB here and writes {_more(w_amp)} bytes per byte; "
            f"the longest writes take {longest}."
        )


def both(lesson: int, machine: Path | None = None) -> Both:
    """Record and simulate the store of a lesson, half a minute in all.

    `machine`: a file of `lsmlab measure`, whose constants the simulation then has. Raises InputError if there is no such lesson
    or file, or the package rocksdict is missing.
    """
    if lesson not in stores():
        raise InputError(f"{lesson}: no such lesson; choose one of {', '.join(map(str, stores()))}")
    config = lsmlab.configure([*stores()[lesson].overrides, *([f"machine={machine}"] if machine is not None else [])])
    result = lsmlab.run(config, progress=False)
    measured, measured_per_s = _recorded(config)
    return Both(lesson, measured, result.summary, measured_per_s, result.series["write_ops"].tolist())


def real(lesson: int, machine: Path | None = None) -> ShownFigure:
    """Record the store of a lesson in RocksDB on this machine and show its writes beside the simulated ones (`both`)."""
    found = both(lesson, machine)
    sys.stdout.write(f"{stores()[lesson].about}\n{found.apart()}\n")
    for label, name, form in _ROWS:
        sys.stdout.write(f"{label:20}  {_cell(found.measured, name, form):>12}  {_cell(found.simulated, name, form):>12}\n")
    return found.shown()


def write_real(lesson: int, path: Path, machine: Path | None = None) -> Path:
    """Write the page with both runs of a lesson's store (`both`); return its path."""
    found = both(lesson, machine)
    figure = replace(found.shown().figure, id="real")
    numbers_of_both = Section("numbers", "In numbers", [paragraph(found.apart()), found.table()])
    discussion = Section("discussion", "Why they differ", [paragraph(text) for text in _DISCUSSION])
    parts: list[Part] = [Story([stores()[lesson].about]), figure, numbers_of_both, discussion]
    return Page(f"Lesson {lesson} in RocksDB", "LSMLab course", parts).write(path)


_DISCUSSION: Final = (
    "RocksDB's rate limiter caps flushes and compactions in both, so the disk of this machine matters little, as long as it is "
    "faster than the limit.",
    "The client is a Python program here and db_bench in the simulation, so a put between two stalls takes longer here. A "
    "memtable then fills later, and the writer waits for a smaller part of the time with about the same throughput. Where "
    "fewer than one write in a hundred stalls, P99 is the time of a put alone: two to three times as long in Python.",
    "The longest write depends on which compaction meets which flush. Both do the same work, not in the same order, so compare "
    "the height and the length of the pauses, and not the second in which each falls.",
    "Other programs on this machine change the measurement. On a busy machine with two cores, two recordings of one store were "
    "up to a third apart in throughput, and a factor of six in the longest write. Repeat yours: how far apart are two of them? "
    "A difference from the simulation that is smaller says nothing.",
)


def _recorded(config: dict[str, Any]) -> tuple[dict[str, Any], list[float]]:
    """Return the measured values and the writes of each second."""
    from lsmlab.validation.recorder.command import bench_plan
    from lsmlab.validation.recorder.drivers import ROCKSDICT, rocksdict_tool
    from lsmlab.validation.recorder.limits import CgroupCaps
    from lsmlab.validation.recorder.one_run import Budget, run_bench
    from lsmlab.validation.recorder.outcome import read_outcome

    tool = rocksdict_tool()
    with tempfile.TemporaryDirectory(prefix="lsmlab-real-") as scratch:
        raw = Path(scratch) / "raw"
        plan = bench_plan(config, raw / "report.csv", ROCKSDICT)
        run_bench(tool, plan, CgroupCaps(None, None, None), Budget(_TIME_S, _SPACE_BYTES), Path(scratch) / "db", raw)
        rows = np.loadtxt(raw / "report.csv", delimiter=",", skiprows=1, ndmin=2)
        return read_outcome(raw), [float(value) for value in rows[:, 1]]


def _more(change: float) -> str:
    return f"{numbers.percent(abs(change))} {'more' if change >= 0 else 'fewer'}"


def _cell(values: dict[str, Any], name: str, form: Any) -> str:
    outer, _, inner = name.partition(".")
    value = values.get(outer)
    value = value.get(inner) if inner and isinstance(value, dict) else value
    return "unknown" if value is None else str(form(value))
