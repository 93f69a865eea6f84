"""Converts the rows of a published CSV table to mappings with the keys of a case.yaml.

Each file in tables/ describes one set of runs with these keys:
- `table`: the CSV file, or a list of files; `where`: the text with which the cells of a column must begin;
- `group`: columns; rows with equal values in them form one run;
- `values`: names of derived values, computed in order;
- `case` and `measured`: the content of the case; measured numbers in base units, collected from all rows of the run;
- `noise_from`: name of the runs whose range is the noise of this run;
- `like`: name of a description in tables/ whose entries count where this one has none (null removes an entry);
- `calibration`: names of the runs to which constants were fitted; `drives`: of those that gave the speed of a drive only;
- `write_histogram`: read latencies from the db_bench output stored with the LOG.

template.py defines how to describe a value. common.yaml contains maps and lists that the files use as `$name`.
tables_2/ describes the runs of public_runs_2 in the same way; they are a set of their own.
"""

from __future__ import annotations

import os
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.text.csv_rows import csv_records
from lsmlab.models.text.files import read_text
from lsmlab.sim.yaml_text import read_yaml
from lsmlab.validation.casefiles.public.template import Row, filled, number, value_of
from lsmlab.validation.logs.bench import percentiles

DATA: Final = Path("../shared/data/public_runs")
"""Folder of the data, relative to the root of the source tree."""
FIRST: Final = "tables"
SECOND: Final = "tables_2"
"""Folders of descriptions: the runs of public_runs, and those of public_runs_2, which nobody had seen when 0.1 was made."""
_COMMON: Final = "common"
_CONDITIONS: Final = Path(__file__).with_name("sessions.yaml")
_DRIVE: Final = ("write_bandwidth", "slc_write_bandwidth", "slc_cache", "slc_idle")
"""Constants of a drive that may differ between sessions."""
_FEW: Final = 8
"""Most repeats whose own range is their noise."""
_RANGE_OF_TWO: Final = 1.128
"""Mean range of two normal values in standard deviations (d2 of control charts: Montgomery, appendix VI)."""
_LOG_SUFFIX: Final = re.compile(r"_LOG_\d+\.gz$")
_WRITERS: Final = re.compile(r"\n(?:fillrandom|ycsb_load) ")
"""Beginning of the results of a writing benchmark in db_bench's output."""
_OPTION: Final = "opt_"
"""Prefix of the columns with RocksDB options; a value of -1 in them means "not set"."""


@cache
def descriptions(folder: str = FIRST) -> Mapping[str, Mapping[str, Any]]:
    """Return the descriptions of all sets of runs in a folder by name, in the order of its common.yaml."""
    shared = common() if folder == FIRST else {**common(), **_load(folder, _COMMON)}
    return {name: _resolved(_described(folder, name), shared) for name in shared["sets"]}


@cache
def common() -> Mapping[str, Any]:
    """Return tables/common.yaml, and under the name of each constant in sessions.yaml its value by session and device."""
    found: dict[str, Any] = _load(FIRST, _COMMON)
    sessions = read_yaml(_CONDITIONS) if _CONDITIONS.is_file() else {}
    drives = {f"{session}/{device}": of for session, devices in sessions.items() for device, of in devices.items()}
    for key in _DRIVE:
        found[key] = {drive: constants[key] for drive, constants in drives.items() if key in constants}
    return found


def _described(folder: str, name: str) -> Mapping[str, Any]:
    own = _load(folder, name)
    like = own.pop("like", None)
    return own if like is None else _merged(_load(FIRST, like), own)


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the entries of `own` behind its other entries, at any depth; null removes an entry."""
    merged = dict(base)
    for key, value in own.items():
        before = merged.pop(key, None)
        merged[key] = _merged(before, value) if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return {key: value for key, value in merged.items() if not (value is None and key in own)}


def _load(folder: str, name: str) -> dict[str, Any]:
    return read_yaml(Path(__file__).parent / folder / f"{name}.yaml") or {}


def _resolved(value: Any, shared: Mapping[str, Any]) -> Any:
    """Replace each `$name` in a description by the shared value."""
    if isinstance(value, str) and value.startswith("$"):
        return shared[value[1:]]
    if isinstance(value, Mapping):
        return {key: _resolved(entry, shared) for key, entry in value.items()}
    return [_resolved(entry, shared) for entry in value] if isinstance(value, list) else value


def runs_of(name: str, data: Path) -> Iterator[dict[str, Any]]:
    """Yield the runs of one set below `data`. Raises InputError if the set, a file or a value is missing."""
    known = {**descriptions(), **descriptions(SECOND)}
    if name not in known:
        raise InputError(f"{name}: no such set of public runs; choose from {', '.join(known)}")
    about = known[name]
    runs: list[dict[str, Any]] = []
    for path in _tables(about, data):
        logs = _logs(path.parent, data) if about.get("logs") else {}
        try:
            runs += [_run(group, about, logs, data) for group in _groups(rows(path), about)]
        except InputError as error:
            raise InputError(f"{path}, by tables/{name}.yaml: {error}") from None
    yield from _with_noise(runs, about.get("noise_from"))


def _tables(about: Mapping[str, Any], data: Path) -> list[Path]:
    """Return the CSV files of a set: `table` is the path of one file from `data`, or a list of paths."""
    names = about["table"]
    return [data / name for name in ([names] if isinstance(names, str) else names)]


def _logs(folder: Path, data: Path) -> dict[str, str]:
    """Map the `path` of each run to its LOG's path from `data`, by logs_index.csv in the folder of the table."""
    place = Path(os.path.relpath(folder, data)) / "logs"
    return {row["run_path"]: str(place / row["log"]) for row in rows(folder / "logs_index.csv")}


def rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of one of the tables. Raises InputError if the file is missing or no CSV file."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; put the public runs into the folder ../shared/data/public_runs")
    yield from csv_records(path)


def _groups(table: Iterable[dict[str, str]], about: Mapping[str, Any]) -> list[list[Row]]:
    """Group the rows by run: rows with equal cells in the columns `group`, or each row as one run."""
    columns, found = about.get("group"), defaultdict(list)
    for place, row in enumerate(table):
        missing = [column for column in (*about.get("where", {}), *(columns or ())) if column not in row]
        if missing:
            raise InputError(f"{missing[0]}: no such column in the table; its columns are {', '.join(row)}")
        if all(row[column].startswith(beginning) for column, beginning in about.get("where", {}).items()):
            found[tuple(row[column] for column in columns) if columns else (place,)].append(_with_values(row, about["values"]))
    return list(found.values())


def _with_values(row: Row, values: Mapping[str, Any]) -> Row:
    extended = dict(row)
    for name, description in values.items():
        value = value_of(description, extended)
        extended |= value if isinstance(value, dict) else {name: value}
    return extended


def _run(group: list[Row], about: Mapping[str, Any], logs: Mapping[str, str], data: Path) -> dict[str, Any]:
    first = group[0]
    run = filled(about["case"], first)
    columns = about.get("option_columns", ())
    if columns:
        run["store"]["options"] = _options(first, columns) | run["store"]["options"]
    run["measured"] = {key: value for row in group for key, value in filled(about["measured"], row).items()}
    log = logs.get(str(first.get("path")))
    if about.get("write_histogram"):
        run["measured"] |= write_histogram(data, log)
    if about.get("noise_from"):
        run["noise"] = value_of(about["noise_from"], first)
    return run | ({"log": log} if about.get("logs") else {})


def write_histogram(data: Path, log: str | None) -> dict[str, float]:
    """Return write latency percentiles and maximum in seconds, from the output stored with a LOG; empty without it."""
    stem = _LOG_SUFFIX.sub("_stdout.txt", log or "")
    path = next((p for p in (data / stem, data / f"{stem}.gz") if p.is_file()), None)
    output = read_text(path) if path is not None else ""
    writers = _WRITERS.search(output)
    text = output[writers.end() :].partition("\nDB path:")[0] if writers else ""
    return {f"write_latency_s.{key}": value for key, value in percentiles(text).items()}


def _options(row: Row, names: Iterable[str]) -> dict[str, Any]:
    """Return the RocksDB options that are set in the columns opt_*."""
    cells = {name: row.get(_OPTION + name) for name in names}
    numbers = {name: number(cell) for name, cell in cells.items() if cell}
    return {name: value for name, value in numbers.items() if value >= 0}


def _with_noise(runs: list[dict[str, Any]], described: str | None) -> Iterator[dict[str, Any]]:
    """Yield the runs; where the table names reference runs, add their spread as noise."""
    repeats: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for run in runs:
        repeats[run["name"]].append(run["measured"])
    for run in runs:
        if described is None:
            yield run
            continue
        reference = repeats[run["noise"]]
        values = {key: [m[key] for m in reference if key in m] for key in run["measured"]}
        yield run | {"noise": {key: spread(found) for key, found in values.items() if len(found) > 1 and any(found)}}


def spread(values: Sequence[float]) -> float:
    """Return range / mean of a few repeats. The range of many grows with their number: return that of two of them.

    >>> spread([9.0, 11.0])
    0.2
    """
    mean = statistics.mean(values)
    if len(values) > _FEW:
        return _RANGE_OF_TWO * statistics.stdev(values) / mean
    return (max(values) - min(values)) * len(values) / sum(values)
