"""Result of one run in a program or notebook: numbers, tables, figures and page."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsmlab.models.errors import InputError
from lsmlab.plots import RunPlots
from lsmlab.reports.headline import headline
from lsmlab.reports.parts import Table, joined, paragraph
from lsmlab.reports.run_data import PAGE, TABLES, RunData, load_run, run_data
from lsmlab.sim.explain.summary_text import summary_text
from lsmlab.sim.results.frames import data_frame
from lsmlab.sim.results.jsontext import to_json
from lsmlab.sim.results.parquet import arrow_table
from lsmlab.sim.results.reading import damage_as_input_error, read_summary, read_table
from lsmlab.sim.results.rundir import RunDirectory, make_directory
from lsmlab.sim.results.schema.columns import TableSchema, column_array
from lsmlab.sim.results.schema.log_tables import LOG_TABLES
from lsmlab.sim.results.schema.run_tables import RUN_TABLES
from lsmlab.sim.studies.summary_intervals import intervals
from lsmlab.sim.yaml_text import parse_yaml, to_yaml

if TYPE_CHECKING:
    import pandas as pd
    from lsmlab.reports.conclusion import Conclusion
    from lsmlab.reports.page import Page
    from lsmlab.sim.configuration.catalogue import MemoryFolder
    from lsmlab.sim.results.results import Result as Simulated
    from lsmlab.validation.importer.importing import ImportedStore

_SCHEMAS: Final = {schema.name: schema for schema in RUN_TABLES}
_LOG_SCHEMAS: Final = {schema.name: schema for schema in LOG_TABLES}


class Result:
    """Result of a run, simulated (`lsmlab.run`) or read from its folder (`lsmlab.load`).

    Tables are DataFrames with the columns of docs/reference/tables.md; one without rows has all its columns. They need
    pandas (`pip install 'lsmlab[notebook]'`). Times are simulated seconds, sizes bytes.
    """

    def __init__(
        self, name: str, summary: dict[str, Any], config_text: str, table: Callable[[str], Any], write: Callable[[Path], None],
        folder: Path | None = None, in_memory: MemoryFolder | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        """Short name of the run, for legends and tables."""
        self.summary = summary
        """Content of summary.json as a plain dictionary (docs/reference/summary.md)."""
        self._config_text = config_text
        self._table = table
        self._write = write
        self._folder = folder
        self._in_memory = in_memory

    @property
    def folder(self) -> Path | None:
        """Folder of the files; None if the run is only in memory. That of an imported LOG is written at its first use."""
        if self._folder is None and self._in_memory is not None:
            self.save(self._in_memory.name)
        return self._folder

    @property
    def place(self) -> str | None:
        """Name by which studies find the files, on disk or in memory; None if the run is only in memory."""
        if self._folder is None and self._in_memory is not None:
            return self._in_memory.name
        return str(self._folder) if self._folder is not None else None

    @cached_property
    def config(self) -> dict[str, Any]:
        """Resolved configuration: every key with its value."""
        loaded = parse_yaml(self._config_text, "config.yaml") if self._config_text else {}
        return dict(loaded or {})

    @cached_property
    def intervals(self) -> dict[str, Any]:
        """90 % intervals for the real store (`low`, `high`), by the keys of `summary`; of numbers whose error was learnt."""
        found: dict[str, Any] | None = self.summary.get("interval")
        return intervals(self.config, [self.summary]) if found is None else found

    @property
    def series(self) -> pd.DataFrame:
        """One row per simulated second: throughput, latency percentiles, device bytes, levels (tables.md#series)."""
        return self._frames["series"]

    @property
    def jobs(self) -> pd.DataFrame:
        """One row per flush, compaction, move, drop or link (tables.md#jobs)."""
        return self._frames["jobs"]

    @property
    def stalls(self) -> pd.DataFrame:
        """One row per write stall: cause, times, lost operations, and the chain of jobs behind it (tables.md#stalls)."""
        return self._frames["stalls"]

    @property
    def latency(self) -> pd.DataFrame:
        """Histogram of latencies, one row per bucket: op, upper_s, count (tables.md#latency)."""
        return self._frames["latency"]

    @property
    def events(self) -> pd.DataFrame:
        """Version edits and memtable switches (tables.md#events); without rows if the run did not record them."""
        return self._frames["events"]

    @cached_property
    def plot(self) -> RunPlots:
        """Figures of the run; each method returns a Plotly figure."""
        return RunPlots(self.data)

    @cached_property
    def data(self) -> RunData:
        """The arrays that figures and pages are drawn from."""
        with damage_as_input_error(self._folder or Path(self.name)):
            return run_data(self._folder or Path(self.name), self.summary, self._config_text, self._table)

    def save(self, folder: str | Path) -> Path:
        """Write config.yaml, summary.json and the Parquet tables to a folder, as `lsmlab run --out` does; return the folder.

        Raises InputError if the folder cannot be written.
        """
        target = Path(folder)
        if target.exists() and not target.is_dir():
            raise InputError(f"{target}: this is a file; name a folder")
        if self._folder is not None and target.resolve() == self._folder.resolve():
            return target
        self._write(target)
        self._folder = target
        self.__dict__.pop("data", None)
        self.__dict__.pop("plot", None)
        return target

    def report(self, file: str | Path | None = None) -> Path:
        """Write the page of the run and return its path; without `file`, report.html in the folder of the run.

        Raises InputError if the run has no folder yet (`save`) and no file is named.
        """
        if file is None and self.folder is None:
            raise InputError("report: name a file, such as result.report('run.html'), or save the run first")
        path = Path(file) if file is not None else Path(self.folder or ".") / PAGE
        make_directory(path.parent)
        return self._page().write(path)

    def html(self) -> str:
        """Return the page of the run: one HTML document that needs no network."""
        return self._page().html()

    def _page(self) -> Page:
        from lsmlab.reports.folder_page import page_of

        if self.folder is not None:
            return page_of(load_run(self.folder))
        with tempfile.TemporaryDirectory(prefix="lsmlab-") as scratch:
            self._write(Path(scratch) / self.name)
            return page_of(load_run(Path(scratch) / self.name))

    @cached_property
    def conclusion(self) -> Conclusion:
        """What stopped the store, for how long, why, what would help, and how sure that is."""
        from lsmlab.reports.answers.conclusion import conclude

        return conclude(self.data)

    def __str__(self) -> str:
        """Return the summary as the command line prints it."""
        return summary_text(self.summary)

    def __repr__(self) -> str:
        return f"<lsmlab.Result {self.name}: {', '.join(f'{fact.label} {fact.text}' for fact in headline(self.data)[:3])}>"

    def _repr_html_(self) -> str:
        """Return the headline numbers as an HTML table, which notebooks show."""
        rows = [(fact.label, fact.text, fact.note) for fact in headline(self.data)]
        return joined([paragraph(self.name), Table([], rows, texts=[2])])

    @cached_property
    def _frames(self) -> Mapping[str, pd.DataFrame]:
        return _Frames(self._table, "import" in self.summary)


class _Frames(dict[str, "pd.DataFrame"]):
    """DataFrames by the name of their table, made at their first use."""

    def __init__(self, table: Callable[[str], Any], from_a_log: bool) -> None:
        super().__init__()
        self._table = table
        self._schemas: Mapping[str, TableSchema] = {**_SCHEMAS, **_LOG_SCHEMAS} if from_a_log else _SCHEMAS

    def __missing__(self, name: str) -> pd.DataFrame:
        self[name] = data_frame(_with_all_columns(self._table(name), self._schemas[name]))
        return self[name]


def simulated_result(simulated: Simulated, name: str | None = None) -> Result:
    """Return the result of a run that is only in memory."""

    def write(folder: Path) -> None:
        with RunDirectory(folder) as place:
            simulated.save(place.staging)
            place.publish()

    text, table = to_yaml(simulated.config), _tables(simulated.tables())
    return Result(name or _name(simulated.summary), dict(simulated.summary), text, table, write)


def imported_result(store: ImportedStore, name: str, folder: Path) -> Result:
    """Return the history of a real store, which is only in memory; `folder`: where its files will be, if they are needed."""
    summary = json.loads(to_json(store.summary))
    return Result(name, summary, "", _tables(store.tables[0]), store.write, in_memory=store.in_memory(str(folder)))


def _tables(found: Iterable[tuple[TableSchema, Mapping[str, Any] | None]]) -> Callable[[str], Any]:
    """Return the function that gives a table of a result in memory; one that the result lacks has no rows."""
    columns = {schema.name: (schema, table) for schema, table in found}

    def table(wanted: str) -> Any:
        schema, values = columns.get(wanted) or (_SCHEMAS[wanted], None)
        return arrow_table(schema, schema.empty() if values is None else values)

    return table


def stored_result(folder: Path, name: str | None = None) -> Result:
    """Return the result in the folder of a run or of an imported LOG. Raises InputError if it has none, or is damaged."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name the folder of a finished run")
    summary = read_summary(folder)
    missing = [table for table in TABLES if not (folder / f"{table}.parquet").is_file()]
    if missing:
        raise InputError(f"{folder / missing[0]}.parquet: missing; name the folder of one finished run")
    config = folder / "config.yaml"

    def table(wanted: str) -> Any:
        path = folder / f"{wanted}.parquet"
        if wanted == "events" and not path.is_file():
            schema = _SCHEMAS[wanted]
            return arrow_table(schema, schema.empty())
        return read_table(path)

    def write(target: Path) -> None:
        with RunDirectory(target) as place:
            shutil.copytree(folder, place.staging, dirs_exist_ok=True)
            place.publish()

    text = config.read_text(encoding="utf-8", errors="replace") if config.is_file() else ""
    return Result(name or folder.resolve().name, summary, text, table, write, folder)


def _name(summary: Mapping[str, Any]) -> str:
    device = (summary.get("device") or {}).get("name", "device")
    return f"{summary.get('engine', 'run')} on {device}, {summary.get('workload', 'workload')}"


def _with_all_columns(table: Any, schema: TableSchema) -> Any:
    """Return a table without rows with all columns of the results contract; any other table unchanged."""
    if table.num_rows:
        return table
    known = {c.name: column_array((), c.dtype) for c in schema.columns if not c.family}
    families = [name for name in table.column_names if name not in known]
    known |= {name: column_array((), schema.column(name).dtype) for name in families}
    return arrow_table(schema, known)
