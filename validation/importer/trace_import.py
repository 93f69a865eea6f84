"""Import of a trace of operations without a LOG: its load as entries of the workload group, and its facts."""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from lsmlab.sim.results.jsontext import write_json
from lsmlab.sim.results.rundir import RunDirectory
from lsmlab.sim.results.schema.columns import FORMAT
from lsmlab.validation.importer.entries import trace_files
from lsmlab.validation.importer.importing import publish
from lsmlab.validation.importer.trace_load import TraceLoad


class ImportedTrace:
    """A load that a trace tells; store, options and machine are unknown."""

    def __init__(self, load: TraceLoad) -> None:
        self.load = load

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Content of summary.json."""
        return {
            "workload": "imported", "version": installed_version("lsmlab"), "results_format": FORMAT,
            "duration_s": self.load.operations.length_s, "operations": len(self.load.operations),
            "write_ops_per_s": self.load.writes_per_s, "import": {"trace": self.load.facts()},
        }  # fmt: skip

    def write(self, folder: Path) -> None:
        """Write the entries, the schedule and the summary into a folder, in one step."""
        with RunDirectory(folder) as place:
            for path, text in trace_files(self.load, folder.resolve() / "trace.csv").items():
                (place.staging / path).parent.mkdir(parents=True, exist_ok=True)
                (place.staging / path).write_text(text, encoding="utf-8")
            write_json(place.staging / "summary.json", self.summary)
            publish(place)
