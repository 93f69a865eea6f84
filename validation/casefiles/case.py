"""Cases: recorded runs of a real store, each a folder with a `case.yaml` (docs/reference/cases.md)."""

from __future__ import annotations

import difflib
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.text.files import is_file
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.configuration.overrides import override_key
from lsmlab.sim.yaml_text import read_yaml
from lsmlab.validation.casefiles.overrides import overrides_of

FILE: Final = "case.yaml"
PARTS: Final = ("calibration", "test", "quarantine")
_KEYS: Final = (
    "name", "source", "part", "store", "host", "device", "prefill", "initial_tree", "databases", "shared", "workload",
    "conditions", "keys", "seed", "measured", "noise", "series", "log", "record", "group", "not_expressed",
)  # fmt: skip
_REQUIRED: Final = ("store", "workload")
_MACHINE: Final = ("host", "device", "limits")
"""Groups that describe machine and drive."""
FEWEST_FLUSHES: Final = 10.0
"""Smallest number of flushes from which background bytes are compared: in shorter runs one compaction decides the total."""


@dataclass(frozen=True, slots=True)
class Case:
    """One measured run: its configuration for the simulator and its measurements."""

    name: str
    source: str
    """Origin of the measurements, shown in the report."""
    part: str
    """calibration, test or quarantine."""
    directory: Path
    overrides: tuple[str, ...]
    """The configuration, as overrides for `lsmlab run`."""
    recorded: tuple[str, ...] = field(default=(), kw_only=True)
    """Overrides with properties of the recording (`record`): of its data, which a driver of the recorder does not take, and
    flags of its command that the case leaves to the entry of its workload."""
    measured: Mapping[str, float]
    """Measured numbers by their names in summary.json; dots separate nested names: "write_latency_s.p99"."""
    noise: Mapping[str, float]
    """Range over repeats of the run divided by their mean, by the same names."""
    series: tuple[Path, ...] = ()
    """CSV files (second, operations in it), one per repeat."""
    logs: tuple[Path, ...] = ()
    """LOG files, one per repeat."""
    notes: tuple[str, ...] = ()
    """Assumptions that the options file needed, as sentences."""
    group: str = ""
    """Kind of run, for tables of errors by group."""
    not_expressed: str = ""
    """Option of the real run that the simulator does not have; the case is simulated without it and scored apart."""
    alternative: Mapping[str, Any] = field(default_factory=dict)
    """Values of configuration keys that explain the case as well as those of `overrides`; its intervals cover both."""
    machine: str = ""
    """Machine and drive of the recording; empty: the overrides of host, device and limits tell (`machine_of`)."""
    tables: Mapping[str, Any] | None = None
    """Measured tables (`levels`, `level_pairs`) as in the file; None if the file has none."""

    def config(self, extra: Sequence[str] = ()) -> dict[str, Any]:
        """Return the configuration to simulate, with further overrides. Raises InputError that names the case file."""
        return self.planned([*self.recorded, *extra])

    def planned(self, extra: Sequence[str] = ()) -> dict[str, Any]:
        """Return the configuration to record: without the properties of an earlier recording's data. Raises as `config`."""
        from lsmlab.sim.configuration.messages import one_line

        try:
            config = compose([*self.overrides, *extra])
            if self.alternative:
                config["parameters"] = {**(config.get("parameters") or {}), "alternative": dict(self.alternative)}
            return config
        except Exception as error:
            message = one_line(error)
            if message is None:
                raise
            raise InputError(f"{self.directory / FILE}: {message}") from error


def machine_of(case: Case) -> str:
    """Return machine and drive of a case: cases with the same text were recorded on one machine and drive, in one session."""
    own = (text for text in case.overrides if override_key(text).partition(".")[0] in _MACHINE)
    return case.machine or " ".join(own)


def find_cases(directory: Path) -> list[Path]:
    """Return all case files in and below a directory (or the one file itself), by path. Raises InputError for none."""
    if directory.is_file():
        return [directory]
    found = sorted(directory.rglob(FILE)) if directory.is_dir() else []
    if not found:
        raise InputError(f"{directory}: no {FILE} in or below it; docs/reference/cases.md shows an example")
    return found


def read_case(path: Path) -> Case:
    """Read a case from its file or its folder. Raises InputError that names file, key and remedy."""
    path = path / FILE if path.is_dir() else path
    content = read_yaml(path)
    try:
        return case_from_mapping(content, path.parent)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(str(path.parent)) else f"{path}: {text}") from None


def case_from_mapping(mapping: Mapping[str, Any], directory: Path) -> Case:
    """Build the case from the content of a case file; relative paths in it start at `directory`.

    Raises InputError that names the key and the remedy.
    """
    if not isinstance(mapping, Mapping):
        raise InputError(f"must be a mapping with the keys {', '.join(_KEYS)}")
    for key in mapping:
        if key not in _KEYS:
            near = difflib.get_close_matches(str(key), _KEYS, n=1)
            remedy = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(_KEYS)}"
            raise InputError(f"{key}: no such key; {remedy}")
    for key in _REQUIRED:
        if not isinstance(mapping.get(key), Mapping):
            raise InputError(f"{key}: a mapping is required, such as {key}: {{{_EXAMPLES[key]}}}")
    part = mapping.get("part", "test")
    if part not in PARTS:
        raise InputError(f"part: {part!r} is not one of {', '.join(PARTS)}")
    measured, tables = _measured(mapping.get("measured"))
    overrides, notes = overrides_of(mapping, directory)
    return Case(
        name=_text(mapping, "name", directory.name),
        source=_text(mapping, "source", ""),
        part=part,
        directory=directory,
        overrides=tuple(overrides),
        recorded=tuple(_recorded(mapping.get("record"), mapping["workload"])),
        measured=measured,
        noise=dict(_numbers(mapping.get("noise"), "noise", negative=False)),
        series=_files(mapping.get("series"), "series", directory),
        logs=_files(mapping.get("log"), "log", directory),
        notes=tuple(notes),
        group=_text(mapping, "group", ""),
        not_expressed=_text(mapping, "not_expressed", ""),
        tables=tables,
    )


_EXAMPLES: Final = {
    "store": 'engine: rocksdb, version: "7.8", preset: db_bench',
    "workload": "base: fillrandom, num: 1000000",
}
_TABLES: Final = ("levels", "level_pairs", "files_per_level", "compaction_stats")
"""Keys of `measured` whose values are tables, not single numbers."""


def _recorded(record: object, workload: Mapping[str, Any]) -> Iterator[str]:
    """Yield overrides for the properties of the recording.

    An entry of configs/workload may get other values after a recording, but the recorded load stays that of its command.
    """
    if not isinstance(record, Mapping):
        return
    words = shlex.split(str(record.get("command") or ""))
    flags = dict(word[2:].split("=", 1) for word in words if word.startswith("--") and "=" in word)
    for key, value in _entry_values(str(workload["base"])).items() if flags else ():
        if key in flags and key not in workload and flags[key].lower() != str(value).lower():
            yield f"workload.{key}={flags[key]}"
    ratio = record.get("compression_ratio")
    if ratio is not None:
        yield f"engine.compression_ratio={_number(ratio, 'record.compression_ratio', False)}"


@cache
def _entry_values(entry: str) -> Mapping[str, Any]:
    """Return the values of an entry of configs/workload, by the flags of db_bench that they are."""
    values: Mapping[str, Any] = compose([f"workload={entry}"])["workload"]
    return values


def _text(mapping: Mapping[str, Any], key: str, default: str) -> str:
    value = mapping.get(key, default)
    if not isinstance(value, str | int | float):
        raise InputError(f"{key}: {value!r} must be text")
    return str(value)


def _measured(value: object) -> tuple[dict[str, float], dict[str, Any] | None]:
    if value is None:
        return {}, None
    if not isinstance(value, Mapping):
        raise InputError("measured: must be a mapping of names of summary.json, such as measured: {ops_per_s: 35597}")
    tables = {k: v for k, v in value.items() if k in _TABLES and v is not None}
    plain = {k: v for k, v in value.items() if k not in _TABLES}
    return dict(_numbers(plain, "measured", negative=True)), tables or None


def _numbers(value: object, where: str, *, negative: bool) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a nested mapping by dotted name; skip null entries."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: must be a mapping of names of summary.json to numbers")
    for key, entry in value.items():
        place = f"{where}.{key}"
        if isinstance(entry, Mapping):
            for name, number in _numbers(entry, place, negative=negative):
                yield f"{key}.{name}", number
        elif entry is not None:
            yield str(key), _number(entry, place, negative)


def _number(value: object, place: str, negative: bool) -> float:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{place}: {value!r} must be a plain number in base units (seconds, bytes, fractions)")
    if number < 0 and not negative:
        raise InputError(f"{place}: {value!r} must not be negative")
    return number


def _files(value: object, key: str, directory: Path) -> tuple[Path, ...]:
    if value is None:
        return ()
    names = value if isinstance(value, list) else [value]
    paths = []
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"{key}: {name!r} must be the name of a file, or a list of names")
        path = directory / name
        if not is_file(path):
            raise InputError(f"{key}: {path} does not exist; names are relative to the case's folder")
        paths.append(path)
    return tuple(paths)
