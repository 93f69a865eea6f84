"""Tasks of the laboratory's worker processes, done by the public functions of lsmlab."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lsmlab
from lsmlab.reports.limits import PAGE_S

LONGEST_S = 2 * 3600.0
"""Wall time after which a simulation of the laboratory is ended; longer ones are for `lsmlab run`."""
Progress = Callable[[float, float], None]
"""Gets the simulated time and the end of a run, in seconds."""


@dataclass(frozen=True, slots=True)
class Preview:
    """Simulate a short window of a configuration and draw its curves."""

    config: Mapping[str, Any]

    def do(self, _progress: Progress) -> Any:
        """Return the `preview.Curves`. Raises InputError for a configuration that cannot run."""
        from lsmlab.reports.lab.preview import preview

        return preview(self.config)


@dataclass(frozen=True, slots=True)
class WholeRun:
    """Simulate a configuration, save the result in a folder and draw its page."""

    name: str
    config: Mapping[str, Any]
    folder: Path

    def do(self, progress: Progress) -> Path:
        """Return the page. Raises InputError for a configuration that cannot run."""
        result = lsmlab.run(self.config, name=self.name, progress=progress)
        result.save(self.folder)
        return result.report()


@dataclass(frozen=True, slots=True)
class Import:
    """Import a LOG into a folder and draw its page."""

    log: Path
    folder: Path

    def do(self, _progress: Progress) -> Path:
        """Return the page. Raises InputError for a file that is not a LOG."""
        return lsmlab.import_log(self.log, out=self.folder).report()


@dataclass(frozen=True, slots=True)
class DrawComparison:
    """Draw the page that compares finished runs."""

    runs: Sequence[Path]
    folder: Path

    def do(self, _progress: Progress) -> Path:
        """Return the page. Raises InputError if it cannot be drawn."""
        from lsmlab.reports.comparison.page import write_comparison
        from lsmlab.reports.run_data import PAGE

        self.folder.mkdir(parents=True, exist_ok=True)
        return write_comparison(self.folder / PAGE, self.folder, self.runs)


LabTask = Preview | WholeRun | Import | DrawComparison


def limit_s(task: LabTask) -> float:
    """Return the longest time of a task: one tab may not keep the worker processes from the others."""
    return {Preview: PAGE_S, WholeRun: LONGEST_S, Import: PAGE_S, DrawComparison: PAGE_S}[type(task)]
