"""Tasks of the laboratory's worker processes: warm up, preview, simulate and draw, import a LOG, compare runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsmlab.models.errors import InputError
from lsmlab.sim.progress import Progress


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Import all that later tasks need, fill the caches, and measure the speed of this machine."""

    config: Mapping[str, Any]
    """Configuration of a preview, whose result is discarded."""

    def do(self, progress: Progress) -> None:
        """Preview the configuration."""
        from lsmlab.sim.runs.loading import load_simulation

        load_simulation()
        import lsmlab.reports.page
        import lsmlab.sim.runs.batch  # noqa: F401

        PreviewRun(self.config).do(progress)


@dataclass(frozen=True, slots=True)
class PreviewRun:
    """Simulate a short window of a configuration and draw its curves."""

    config: Mapping[str, Any]

    def do(self, _progress: Progress) -> Any:
        """Return the `Preview`."""
        from lsmlab.reports.lab.preview import preview

        return preview(self.config)


@dataclass(frozen=True, slots=True)
class WholeRun:
    """Simulate a configuration into the run store, put it into a folder under its name and draw its page."""

    name: str
    config: Mapping[str, Any]
    folder: Path
    choices: Mapping[str, str] = field(default_factory=dict)

    def do(self, progress: Progress) -> Path:
        """Return the page. Raises InputError for a configuration that cannot run."""
        from lsmlab.reports.run_page import draw_run
        from lsmlab.sim.runs.batch import Job, run_job
        from lsmlab.sim.runs.store import default_store

        outcome = run_job(Job(self.name, self.config, self.folder, self.choices), default_store(), progress)
        if outcome.error is not None:
            raise InputError(outcome.error)
        return draw_run(self.folder)


@dataclass(frozen=True, slots=True)
class Import:
    """Import a LOG into a folder and draw its page."""

    log: Path
    folder: Path

    def do(self, _progress: Progress) -> Path:
        """Return the page. Raises InputError for a file that is not a LOG."""
        from lsmlab.reports.import_page import draw_import
        from lsmlab.validation.importer.importing import ImportRequest, import_store

        import_store(ImportRequest(log=self.log), self.folder)
        return draw_import(self.folder)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Draw the page that compares finished runs."""

    runs: Sequence[Path]
    folder: Path

    def do(self, _progress: Progress) -> Path:
        """Return the page. Raises InputError if it cannot be drawn."""
        from lsmlab.reports.comparison.page import draw_comparison

        self.folder.mkdir(parents=True, exist_ok=True)
        return draw_comparison(self.folder, list(self.runs))


Task = WarmUp | PreviewRun | WholeRun | Import | Comparison


def do(task: Task, progress: Progress) -> Any:
    """Do a task in a worker process; an error about the input becomes InputError with one line."""
    from lsmlab.sim.configuration.messages import one_line

    os.environ["LSMLAB_TRACEBACK"] = ""
    try:
        return task.do(progress)
    except Exception as error:
        text = one_line(error)
        if text is None:
            raise
        raise InputError(text) from None
