"""Data of a finished run, read from its directory, for the pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from lsmlab.sim.results.reading import read_summary, read_table
from lsmlab.sim.yaml_text import parse_yaml

Floats = npt.NDArray[np.float64]
Column = npt.NDArray[Any]
"""Numbers, or Python strings in an object array."""

PAGE: Final = "report.html"
"""File name of the page in the directory of a run."""

EVENTS: Final = "events.parquet"
"""File of the version edits of a run."""

_SHORTEST_S: Final = 0.1
"""Shortest time of the last row, in seconds, for which its rate is meaningful."""
_OPERATIONS: Final = ("write_ops", "read_ops", "user_bytes")
"""Columns that `operations_until_s` of an imported LOG ends."""

TABLES: Final = ("series", "jobs", "stalls", "latency")
"""Tables of a run that the pages need, <name>.parquet in its directory."""


@dataclass(frozen=True)
class RunData:
    """Files of one run directory as arrays. Times are in seconds, sizes in bytes."""

    directory: Path
    summary: dict[str, Any]
    config_text: str
    """Text of config.yaml."""
    series: dict[str, Column]
    """Columns of series.parquet, one row per simulated second."""
    jobs: dict[str, Column]
    """Columns of jobs.parquet, one row per job, sorted by start time; "key" identifies a job among all shards."""
    stalls: dict[str, Column]
    """Columns of stalls.parquet, without the chain."""
    chain_ends: npt.NDArray[np.int64]
    """The chain of stall i is `chain_keys[chain_ends[i] : chain_ends[i + 1]]`."""
    chain_keys: npt.NDArray[np.int64]
    latency: dict[str, tuple[Floats, Floats]]
    """Histogram by operation ("write", "read", "scan"): upper bounds of the buckets, ascending, and counts."""

    @property
    def name(self) -> str:
        """Name of the run: that of its directory."""
        return self.directory.resolve().name

    @cached_property
    def duration_s(self) -> float:
        """Simulated seconds."""
        stated = self.summary.get("duration_s")
        if isinstance(stated, int | float) and stated > 0:
            return float(stated)
        if "import" in self.summary:  # its series has a row all the same
            return 0.0
        return float(self.times_s[-1]) if len(self.times_s) else 0.0

    @property
    def operations_s(self) -> float:
        """Seconds in which the operations of the summary were counted: an imported text may tell those of another time."""
        return self.number("operations_until_s") or self.duration_s

    @property
    def times_s(self) -> Floats:
        """End of each row of the series in seconds; a row covers the second before it."""
        return self.column("t_s")

    @property
    def options(self) -> dict[str, Any]:
        """Resolved options of the engine; empty if the summary has none."""
        return dict(self.summary.get("options") or {})

    def number(self, path: str) -> float | None:
        """Return a number of the summary by its dotted path, infinity included; None if the run does not have it."""
        *outer, key = path.split(".")
        found: Any = self.summary
        for name in outer:
            found = found.get(name) if isinstance(found, dict) else None
        return number(found, key)

    def column(self, name: str) -> Floats:
        """Return a column of the series; zeros if the run does not have this column."""
        values = self.series.get(name)
        if values is None:
            return np.zeros(len(next(iter(self.series.values()), ())))
        return values

    def rate(self, name: str) -> Floats:
        """Return a column of amounts per row as amounts per second; NaN where the run does not know them.

        The last row may cover less than a second. A LOG tells operations only until the last memtable that it saw flushed.
        """
        end_s = self.duration_s
        if name in _OPERATIONS:
            end_s = min(end_s, self.number("operations_until_s") or end_s)
        values = self.column(name).astype(float)
        covered_s = np.clip(end_s - (self.times_s - 1.0), 0.0, 1.0)
        rates: Floats = np.divide(values, covered_s, out=np.full_like(values, np.nan), where=covered_s >= _SHORTEST_S)
        return rates

    def option(self, name: str) -> float | None:
        """Return an option of the engine; None if it is missing or not a number."""
        value = self.options.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    @property
    def only_statistics(self) -> bool:
        """Whether the totals are those of RocksDB's statistics tables: an imported text with few events or none."""
        return self.summary.get("counted_from") == "tables"

    @property
    def stalls_unknown(self) -> bool:
        """Whether the input does not tell if there were stalls: it has no line of one, and no statistics that count them."""
        unknown = "stall_fraction" in self.summary and self.summary["stall_fraction"] is None
        return unknown and not self.stall_counts() and not self.number("stall_measured.seconds")

    @property
    def stall_times_unknown(self) -> bool:
        """Whether writers were stalled, or may have been, at times that the input does not show."""
        waited = self.number("stall_fraction") or self.number("stall_measured.seconds")
        return bool(self.stalls_unknown or waited or self.stall_counts()) and not len(self.stalls.get("start_s", ()))

    def chain(self, stall: int) -> list[int]:
        """Return the keys of the jobs that had to end before the stall in this row could end."""
        return [int(j) for j in self.chain_keys[self.chain_ends[stall] : self.chain_ends[stall + 1]]]

    @cached_property
    def events(self) -> dict[str, Column] | None:
        """Columns of events.parquet; None for a run without this table (an imported LOG, or `save.events=false`)."""
        path = self.directory / EVENTS
        return _columns(read_table(path)) if path.is_file() else None

    @cached_property
    def job_rows(self) -> dict[int, int]:
        """Row of each job by its key."""
        return {key: row for row, key in enumerate(self.jobs.get("key", np.empty(0, dtype=np.int64)).tolist())}

    def ranked_stalls(self) -> npt.NDArray[np.int64]:
        """Return the row numbers of the stalls: those that cost most operations first, the longest of equal ones first."""
        if not len(self.stalls.get("start_s", ())):
            return np.empty(0, dtype=np.int64)
        return np.lexsort((self.stalls["start_s"] - self.stalls["end_s"], -self.stalls["lost_ops"]))

    def stall_seconds(self) -> dict[str, float]:
        """Return the stalled seconds by cause, without causes that did not occur."""
        stated: dict[str, float] = self.summary.get("stall_seconds") or {}
        return {cause: float(s) for cause, s in stated.items() if s}

    def stall_counts(self) -> dict[str, int]:
        """Return the stalls by cause that RocksDB or the lines of a LOG count, without causes that did not occur."""
        stated: dict[str, int] = self.summary.get("stall_count") or {}
        return {cause: number for cause, number in stated.items() if number}


def configuration(run: RunData) -> dict[str, Any]:
    """Return the configuration of a run; empty if it has none."""
    found = parse_yaml(run.config_text, run.directory / "config.yaml") if run.config_text else None
    return found if isinstance(found, dict) else {}


def number(mapping: Any, name: str) -> float | None:
    """Return the value of a key if it is a number (infinity included), else None."""
    value = mapping.get(name) if isinstance(mapping, dict) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value) else None


def is_run(directory: Path) -> bool:
    """Return whether the directory has a finished run (a directory of replications has a summary, but no series)."""
    return (directory / "summary.json").is_file() and (directory / "series.parquet").is_file()


def load_run(directory: Path, columns: Mapping[str, Sequence[str]] | None = None) -> RunData:
    """Read a run directory. `columns`: of these tables, read only these columns.

    Raises InputError if the directory has no summary.json (the run did not finish), or a file is missing, broken, or of
    a newer version of the results contract.
    """
    config = directory / "config.yaml"
    text = config.read_text(encoding="utf-8", errors="replace") if config.is_file() else ""
    summary = read_summary(directory)
    only = columns or {}
    return run_data(directory, summary, text, lambda name: read_table(directory / f"{name}.parquet", only.get(name)))


def run_data(directory: Path, summary: dict[str, Any], config_text: str, table: Callable[[str], Any]) -> RunData:
    """Return the data of a run whose pyarrow Tables (series, jobs, stalls, latency) `table` returns by name."""
    series, jobs, stalls, latency = map(table, TABLES)
    chain_ends, chain_keys = _chains(stalls)
    return RunData(
        directory=directory,
        summary=summary,
        config_text=config_text,
        series=_columns(series),
        jobs=_with_keys(_sorted_by(_columns(jobs), "start_s")),
        stalls=_columns(stalls, without=("chain_jobs",)),
        chain_ends=chain_ends,
        chain_keys=chain_keys,
        latency=_histograms(_columns(latency)),
    )


def _columns(table: Any, without: tuple[str, ...] = ()) -> dict[str, Column]:
    return {name: _values(table[name]) for name in table.column_names if name not in without}


def _values(column: Any) -> Column:
    """Return a column as an array. `to_numpy` of pyarrow would import pandas where it is installed, 0.4 s."""
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = "f" if pa.types.is_floating(array.type) else "i" if pa.types.is_integer(array.type) else "O"
    if kind == "O":
        return np.array(array.to_pylist(), dtype=object)
    if array.null_count:
        return np.array([math.nan if value is None else value for value in array.to_pylist()], dtype=np.float64)
    dtype = np.dtype(f"{kind}{array.type.bit_width // 8}")
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def _sorted_by(columns: dict[str, Column], key: str) -> dict[str, Column]:
    order = np.argsort(columns[key], kind="stable") if key in columns else None
    return {name: values[order] for name, values in columns.items()} if order is not None else columns


def _with_keys(jobs: dict[str, Column]) -> dict[str, Column]:
    """Add the column "key", because job numbers are unique only within their shard."""
    if len(jobs.get("job", ())):
        jobs["key"] = _key(jobs.get("shard", np.zeros(1)), jobs["job"])
    return jobs


def _key(shard: Column, job: Column) -> npt.NDArray[np.int64]:
    return shard.astype(np.int64) * 2**32 + job.astype(np.int64)


def _chains(stalls: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    if stalls.num_rows == 0 or "chain_jobs" not in stalls.column_names:
        return np.zeros(stalls.num_rows + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
    lists = stalls["chain_jobs"].combine_chunks()
    import pyarrow.compute as pc

    lengths = np.nan_to_num(_values(pc.list_value_length(lists)).astype(float))
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    jobs = _values(lists.flatten())
    shards = _values(stalls["shard"]) if "shard" in stalls.column_names else np.zeros(len(lists))
    return ends, _key(np.repeat(shards, np.diff(ends)), jobs)


def _histograms(latency: dict[str, Column]) -> dict[str, tuple[Floats, Floats]]:
    result: dict[str, tuple[Floats, Floats]] = {}
    for op in ("write", "read", "scan"):
        of_op = latency["op"] == op
        if latency["count"][of_op].any():
            upper, count = latency["upper_s"][of_op], latency["count"][of_op]
            order = np.argsort(upper, kind="stable")
            result[op] = (upper[order].astype(float), count[order].astype(float))
    return result
