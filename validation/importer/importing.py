"""Import of a real RocksDB LOG: history, load and machine, a configuration for the simulator, and a folder with all of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, Final, NamedTuple

from lsmlab.models.errors import InputError
from lsmlab.models.options.options import changed_options
from lsmlab.models.options.options_file import read_options
from lsmlab.models.options.values import plain
from lsmlab.sim.configuration.catalogue import MemoryFolder
from lsmlab.sim.explain.holder_sentences import bottleneck_text
from lsmlab.sim.explain.stall_analysis import StallData, analyse_stalls
from lsmlab.sim.results.jsontext import to_json, write_json
from lsmlab.sim.results.parquet import write_table
from lsmlab.sim.results.rundir import RunDirectory
from lsmlab.sim.results.schema.columns import FORMAT
from lsmlab.sim.studies.request import argument, option
from lsmlab.validation.importer.clients import read_latency, wal_fsync, write_op
from lsmlab.validation.importer.configuration import DRIVES, FULL_SPEED, NAME, Inferred, infer, limited_by_store
from lsmlab.validation.importer.cores import fewest_cores
from lsmlab.validation.importer.device import FLUSH_CPU, fsync_bandwidth, small_fsync, streams, throughput
from lsmlab.validation.importer.entries import configuration_files
from lsmlab.validation.importer.estimates import Earlier, Estimates, Observation, observe
from lsmlab.validation.importer.jobs import codec_cpu, compaction_cpu, file_overhead, flush_cpu, job_start
from lsmlab.validation.importer.load import infer_database
from lsmlab.validation.importer.reading import Reading, families, read
from lsmlab.validation.importer.statistics import latency_s, read_rate_per_s, store_statistics
from lsmlab.validation.importer.tables import Tables, tables_of
from lsmlab.validation.importer.trace_load import TraceLoad, read_trace_load
from lsmlab.validation.importer.workload import InferredWorkload, with_trace
from lsmlab.validation.logs.files import is_options_file
from lsmlab.validation.logs.history.jobs import PROBLEMS
from lsmlab.validation.logs.records import TROUBLES


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """Read a real RocksDB LOG: write its jobs, stalls, seconds and levels as tables, a configuration that 'lsmlab run' accepts, and a page."""  # noqa: E501 (help text)

    logs: tuple[Path, ...] = argument(
        "LOG", "the database's folder, with LOG and LOG.old.* files; or a LOG, or several of one store, or db_bench's output "
        "(plain, .gz, .xz or .bz2); an OPTIONS file (default: the LOG's header); a trace of its operations", several=True,
    )  # fmt: skip
    options: Path | None = option(None, "an OPTIONS file, or a LOG whose header has the options", metavar="FILE")
    report_csv: Path | None = option(None, "db_bench's --report_file: seconds and operations", metavar="CSV")
    device: str | None = option(
        None, f"kind of drive: {', '.join(DRIVES)} (default: by its fsyncs)", choices=tuple(DRIVES)
    )


@dataclass(frozen=True)
class ImportedStore:
    """A real store, as its LOG tells: history, load and machine."""

    reading: Reading
    facts: dict[str, Any]
    """Numbers of summary.json that need no tables."""
    workload: InferredWorkload
    observation: Observation
    estimates: Estimates
    device: str | None = None
    """Kind of drive, one of `DRIVES`; None: inferred."""

    @cached_property
    def inferred(self) -> Inferred:
        """Store, machine and load as keys of the configuration."""
        return infer(self.reading, self.workload, self.estimates, self.device)

    @cached_property
    def described(self) -> dict[str, Any]:
        """The facts with the notes on the configuration, and the name of the experiment that repeats the real load.

        It is `FULL_SPEED` if stalls limited the clients, otherwise `NAME`.
        """
        about = self.facts["import"]
        experiment = FULL_SPEED if limited_by_store(self.observation) else NAME
        return {
            **self.facts,
            "import": {**about, "notes": [*about["notes"], *self.inferred.notes], "experiment": experiment},
        }

    @cached_property
    def tables(self) -> tuple[Tables, StallData]:
        """Tables with their schemas, and the data that explain the stalls."""
        return tables_of(self.reading, self.workload)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Content of summary.json."""
        summary = self.described | analyse_stalls(self.tables[1])
        summary["bottleneck"]["text"] = bottleneck_text(summary)
        return summary

    def write(self, folder: Path) -> None:
        """Write tables, configuration and summary into a folder, in one step."""
        about = {"version": self.facts["version"], "seed": 0, "config": {"log": str(self.reading.path)}}
        with RunDirectory(folder) as place:
            trace = folder.resolve() / "trace.csv"
            for path, text in configuration_files(self.inferred, self.workload, self.reading.path.name, trace).items():
                (place.staging / path).parent.mkdir(parents=True, exist_ok=True)
                (place.staging / path).write_text(text, encoding="utf-8")
            for schema, columns in self.tables[0]:
                write_table(place.staging, schema, columns, about)
            write_json(place.staging / "summary.json", self.summary)
            publish(place)

    def in_memory(self, name: str) -> MemoryFolder:
        """Return the configuration as a folder in memory, about which studies can be asked by its name."""
        files = configuration_files(self.inferred, self.workload, self.reading.path.name)
        return MemoryFolder(name, files, json.loads(to_json(self.described)))


def read_store(request: ImportRequest) -> ImportedStore:
    """Read a LOG and infer load and machine. Raises InputError if a file is unreadable or of the wrong kind."""
    trace, others = traces_among(request.logs)
    if not others:
        raise InputError(f"{request.logs[0]}: is a trace of operations; give the LOG of its store, too")
    logs, options = _sorted(others, request)
    try:
        found = read(logs, options, request.report_csv)
    except InputError:
        if len(logs) == 1 and not logs[0].is_dir() and is_options_file(logs[0]) and _has_options(logs[0]):
            raise InputError(f"{logs[0]}: {_OPTIONS_ALONE}") from None
        raise
    return replace(summarised(found, trace), device=request.device)


_OPTIONS_ALONE: Final = (
    "has the options of a store, but no LOG of it; give the LOG, too, or run a load of your choice with lsmlab run --options"
)


def _has_options(path: Path) -> bool:
    """Whether options can be read from a file."""
    try:
        read_options(path)
    except InputError:
        return False
    return True


def traces_among(paths: Sequence[Path]) -> tuple[TraceLoad | None, Sequence[Path]]:
    """Return the load of the trace of operations among files, and the other files. Raises InputError for two traces."""
    found = {path: load for path in paths if (load := read_trace_load(path)) is not None}
    if len(found) > 1:
        raise InputError(f"{list(found)[1]}: a second trace of operations; give one")
    return next(iter(found.values()), None), [path for path in paths if path not in found]


def _sorted(paths: Sequence[Path], request: ImportRequest) -> tuple[Sequence[Path], Path | None]:
    """Return the LOG files and folders among the files, and the OPTIONS file. Raises InputError for two of the latter."""
    given = {path: len(paths) > 1 and not path.is_dir() and is_options_file(path) for path in paths}
    options = [path for path, is_options in given.items() if is_options]
    options += [request.options] if request.options is not None else []
    if len(options) > 1:
        raise InputError(f"{options[1]}: a second OPTIONS file; give the one that the store has now")
    logs = [path for path in given if path not in options]
    if not logs:
        raise InputError(f"{options[0]}: is an OPTIONS file; give the LOG of the store, too")
    return logs, next(iter(options), None)


class Estimator(NamedTuple):
    """One step from the observation to estimates."""

    estimate: Callable[[Observation, Earlier], Estimates]
    needs: tuple[str, ...] = ()
    """Names of the earlier estimates that the step gets."""


ESTIMATORS: Final = (
    Estimator(compaction_cpu),
    Estimator(flush_cpu, ("host.compaction_record", "host.compress_byte")),
    Estimator(codec_cpu, ("host.compaction_byte", "host.compress_byte", "host.decompress_byte")),
    Estimator(job_start),
    Estimator(file_overhead),
    Estimator(streams),
    Estimator(small_fsync),
    Estimator(fsync_bandwidth, ("device.fsync_latency", *FLUSH_CPU)),
    Estimator(read_latency),
    Estimator(throughput, ("device.write_bandwidth", "device.read_latency", *FLUSH_CPU)),
    Estimator(fewest_cores, ("host.cores",)),
    Estimator(write_op, ("host.compaction_record", "host.compaction_byte")),
    Estimator(wal_fsync),
)


def estimate(observation: Observation) -> Estimates:
    """Run all estimators in order; return all estimates and notes."""
    found = Estimates()
    for step in ESTIMATORS:
        found += step.estimate(observation, {name: found.get(name) for name in step.needs})
    return found


def summarised(reading: Reading, trace: TraceLoad | None = None) -> ImportedStore:
    """Infer load and machine from a LOG, and add them to its summary. `trace`: operations of the same store."""
    workload = infer_database(reading)
    if trace is not None:
        workload = with_trace(workload, trace)
    observation = observe(reading, workload)
    rates = estimate(observation)
    summary = dict(reading.summary)
    if workload.until_s > 0:  # more exact than the last statistics dump, which rounds to 97M keys
        operations = float(workload.operations.sum())
        summary |= {"operations": operations, "operations_until_s": workload.until_s}
        summary |= {"write_ops_per_s": operations / workload.until_s}
        summary |= {"user_bytes_written": operations * observation.entry_bytes}
    for name, part in workload.families.items():
        if name in summary.get("column_families", {}):
            summary["column_families"][name]["write_share"] = part.writes / sum(p.writes for p in workload.families.values())
    if "write_ops_per_s" in summary:
        summary["read_ops_per_s"] = read_rate_per_s(reading)
        if summary["read_ops_per_s"] is None and trace is not None and workload.until_s > 0:
            summary["read_ops_per_s"] = workload.reads / workload.until_s
        summary["ops_per_s"] = summary["write_ops_per_s"] + (summary["read_ops_per_s"] or 0.0)
    options = reading.options
    summary |= {
        "write_latency_s": latency_s(reading, "write"),
        "read_latency_s": latency_s(reading, "get"),
        "engine": "rocksdb", "engine_version": reading.log.version or None, "workload": "imported",
        "options": {k: plain(v) for k, v in options.overrides.items()} if options is not None else {},
        "not_simulated": [option.as_data() for option in reading.not_simulated],
        "version": installed_version("lsmlab"), "results_format": FORMAT, "seed": None,
        "import": _about(reading, workload, rates, summary.get("operations_until_s")),
    }  # fmt: skip
    return ImportedStore(reading, summary, workload, observation, rates)


def _about(reading: Reading, workload: InferredWorkload, rates: Estimates, known_s: float | None) -> dict[str, Any]:
    log = reading.log
    begins = _clock_text(reading.begins_us) if log.first_us is not None else None
    options = reading.options
    return {
        "log": str(reading.path), "lines": log.lines, "begins": begins, "version": log.version, "opens": len(log.openings),
        "column_families": list(reading.summary.get("column_families") or families(reading.jobs)),
        "wrapped": log.wrapped, "known_s": known_s,
        "column_family": options.column_family if options is not None else "default",
        "workload": _load(workload),
        "trace": None if workload.trace is None else workload.trace.facts(),
        "rates": [asdict(e) for e in rates.estimates],
        "write_limited": rates.write_limited,
        "unreadable": reading.unreadable,
        "troubles": [{"kind": k, "count": n, "what": TROUBLES[k]} for k, n in log.troubles.items() if n],
        "problems": [{"kind": k, "count": n, "what": PROBLEMS[k]} for k, n in reading.problems.items() if n],
        "files": _files(reading),
        "statistics": store_statistics(reading),
        "changed_options": _changed_options(reading),
        "notes_on_files": list(reading.notes),
        "notes": [*reading.notes, *workload.notes, *rates.notes],
        "benchmarks": [asdict(b) for b in log.benchmarks],
    }  # fmt: skip


def _files(reading: Reading) -> list[dict[str, Any]]:
    """Return the files of the history: their names and times, and the gap before each, which is left out of all times."""
    return [
        {
            "name": part.path.name, "begins": _clock_text(part.begins_us), "ends": _clock_text(part.ends_us),
            "t_s": None if part.begins_us is None else reading.seconds(part.begins_us - part.offset_us),
            "gap_s": part.gap_us / 1e6, "gap_closed": part.closed, "opens": part.opens, "lines": part.lines,
        }
        for part in reading.log.parts
    ]  # fmt: skip


def _clock_text(time_us: int | None) -> str | None:
    """Return a time of the LOG's own clock, to the second."""
    return None if time_us is None else datetime.fromtimestamp(time_us / 1e6, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")


def _changed_options(reading: Reading) -> dict[str, Any] | None:
    """Return the options that differ from the defaults of the store's release; None without options or release."""
    found, version = reading.options, reading.version
    if found is None or version is None:
        return None
    changes = changed_options(version, found.overrides)
    rows = [{"name": name, "value": plain(value), "default": plain(default)} for name, (value, default) in changes.items()]
    return {"release": str(version), "options": rows}


def _load(workload: InferredWorkload) -> dict[str, Any]:
    """Numbers of a load without its rows over time; those of column families under `families`, where there are several."""
    rows = ("seconds", "rate_per_s", "fills", "notes", "families", "short_lived", "trace", "from_trace")
    numbers = {f.name: getattr(workload, f.name) for f in fields(workload) if f.name not in rows}
    if not workload.families:
        return numbers
    own = {name: {**_load(part), "short_lived": part.short_lived} for name, part in workload.families.items()}
    return {**numbers, "families": own}


def publish(place: RunDirectory) -> Path:
    """Publish like `RunDirectory.publish`, but replace folders of an earlier import."""
    for path in place.staging.iterdir():
        if path.is_dir() and (place.target / path.name).is_dir():
            shutil.rmtree(place.target / path.name)
    return place.publish()
