"""Builds cases that score predictions from one LOG: the same run again, and other runs on the same machine.

`lsmlab import` infers store, load, device and processor from a LOG, without a calibrated parameter set. A *rerun* takes
all of these from the LOG, with clients at full speed. A *what-if* takes device and processor from the LOG of one run,
and store and load from another run on the same machine. Only the number of cores and the kind of drive come from the
case, because a LOG does not contain them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from lsmlab.sim.configuration.overrides import literal
from lsmlab.validation.casefiles.case import Case, find_cases, read_case
from lsmlab.validation.casefiles.overrides import FAMILIES
from lsmlab.validation.casefiles.public.cases import public_cases
from lsmlab.validation.importer.configuration import DRIVES, NAME, Inferred, infer, limited_by_store
from lsmlab.validation.importer.importing import summarised
from lsmlab.validation.importer.load import full_speed
from lsmlab.validation.importer.reading import read

_WRITE_ONLY: Final = ("fillrandom", "overwrite", "deleterandom")
"""Benchmarks that can be rerun from a LOG: without RocksDB's statistics, a LOG contains neither reads nor their
cost."""
_LIMITED: Final = "workload.benchmark_write_rate_limit"
_JOBS: Final = re.compile(r"^throttled/(?P<cap>\w+)-(?P<size>\w+)-(?P<jobs>\d+)-(?P<device>\w+)$")
_MACHINE: Final = ("host", "device")
_KEPT: Final = (
    "duration_s", "ops_per_s", "write_amplification", "stall_fraction", "device_bytes_written", "write_latency_s.p99",
    "write_latency_s.p999",
)  # fmt: skip
"""Numbers that are scored for reruns and what-ifs."""


class _FromLog(NamedTuple):
    """Facts inferred from one LOG."""

    inferred: Inferred
    full_speed: tuple[str, Mapping[str, Any]]
    """Closed-loop load: name of the workload entry, and its keys."""
    saturated: bool
    """Whether the clients were limited only by the store (closed loop)."""


@cache
def _read(log: Path, kind: str | None) -> _FromLog:
    """Read a LOG; the result is cached for reruns and what-ifs, because the longest LOGs take seconds."""
    reading = read(log)
    store = summarised(reading)
    return _FromLog(
        infer(reading, store.workload, store.estimates, kind),
        full_speed(store.workload),
        limited_by_store(store.observation),
    )


@dataclass(frozen=True)
class LogMachine:
    """A case with a LOG, and the machine inferred from the LOG."""

    case: Case

    @property
    def from_log(self) -> _FromLog:
        """Facts from the LOG; the case gives the kind of drive if the importer supports it."""
        kind = _chosen(self.case, "device")
        return _read(self.case.logs[0], kind if kind in DRIVES else None)

    @cached_property
    def machine(self) -> list[str]:
        """Overrides for host and device from the LOG; the number of cores comes from the case."""
        inferred = self.from_log.inferred
        cores = self.case.config()["host"]["cores"]
        constants = inferred.parameters
        return [
            f"device={inferred.device_base}",
            *_flat("device", {**constants.devices.get(NAME, {}), **inferred.device}),
            f"host.cores={literal(cores)}",
            *_flat("host", {key: value for key, value in constants.host.items() if key != "cores"}),
        ]

    @property
    def alternative(self) -> dict[str, Any]:
        """Limits that the LOG does not exclude, by key of the device group. The number of cores is known here."""
        pairs = self.from_log.inferred.parameters.alternative
        return {key.replace("limits.", "device.", 1): instead for key, (_, instead) in pairs.items() if key != "host.cores"}

    def rerun(self) -> Case | None:
        """Return the same run from its LOG alone; None if the clients were slower than the store."""
        inferred, (entry, schedule), saturated = self.from_log
        if not saturated:
            return None
        engine = {key: value for key, value in inferred.engine.items() if key not in ("options", "options_file")}
        options = _flat("engine.options", inferred.engine["options"])
        store = ["engine=rocksdb", *_flat("engine", engine), *options]
        load = [f"workload={entry}", *_flat("workload", {**schedule, **inferred.load})]
        return self._case(self.case, [*store, *self.machine, *load], "rerun")

    def what_if(self, target: Case) -> Case:
        """Return `target` on this machine: store and load of `target`, host and device from this LOG."""
        own = [text for text in target.overrides if text.partition("=")[0].partition(".")[0] not in _MACHINE]
        return self._case(target, [*own, *self.machine], self.case.name.rpartition("/")[2])

    def _case(self, target: Case, overrides: Sequence[str], way: str) -> Case:
        return replace(
            target, name=f"{target.name} ({way})", source=f"{target.source}; machine from the LOG of {self.case.name}",
            overrides=tuple(overrides), logs=(), series=(), tables=None, alternative=self.alternative,
            measured={key: value for key, value in target.measured.items() if key in _KEPT},
        )  # fmt: skip


def reruns(own: Path, data: Path) -> Iterator[Case]:
    """Yield reruns of the own recordings (calibration and test part) and of the throttled public runs, if available."""
    for case in [*_own(own), *_public(data)]:
        if case.logs and _write_only(case) and not _limited(case) and (again := LogMachine(case).rerun()) is not None:
            yield again


def what_ifs(own: Path, data: Path) -> Iterator[Case]:
    """Yield what-ifs: own cases on a calibration run's machine; public runs with another number of jobs."""
    for group in _groups([*_own(own)], _machine_of):
        writing = [case for case in group if _write_only(case)]
        source = next((case for case in writing if case.part == "calibration" and case.logs and not _limited(case)), None)
        yield from _all_but(source, writing)
    for group in _groups([c for c in _public(data) if _JOBS.match(c.name)], _session_of):
        fewest = min(group, key=lambda case: int(_jobs(case)["jobs"]))
        yield from _all_but(fewest if fewest.logs else None, group)


def _all_but(case: Case | None, group: Sequence[Case]) -> Iterator[Case]:
    if case is not None:
        source = LogMachine(case)
        yield from (source.what_if(target) for target in group if target is not case)


def _own(directory: Path) -> Iterator[Case]:
    if directory.is_dir():
        cases = (read_case(path) for path in find_cases(directory))
        yield from (case for case in cases if case.part != "quarantine" and case.measured)


def _public(data: Path) -> Iterator[Case]:
    if data.is_dir():
        yield from public_cases(data, ("throttled",))


def _groups(cases: Iterable[Case], key: Callable[[Case], tuple[str, ...]]) -> Iterator[list[Case]]:
    """Yield groups of cases with the same key, in order; skip groups of one case."""
    found: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        found.setdefault(key(case), []).append(case)
    yield from (group for group in found.values() if len(group) > 1)


def _machine_of(case: Case) -> tuple[str, ...]:
    """Return the overrides for machine, device and device limits."""
    return tuple(text for text in case.overrides if text.startswith(("host.parameters", "device")))


def _jobs(case: Case) -> Mapping[str, str]:
    matched = _JOBS.match(case.name)
    return matched.groupdict() if matched else {}


def _session_of(case: Case) -> tuple[str, ...]:
    """Return all parts of the name except the number of jobs."""
    return tuple(value for key, value in _jobs(case).items() if key != "jobs")


def _write_only(case: Case) -> bool:
    return _chosen(case, "workload") in _WRITE_ONLY


def _chosen(case: Case, group: str) -> str:
    """Return the entry that the case chooses in a group; empty if it chooses none."""
    return next((text.partition("=")[2] for text in case.overrides if text.startswith(f"{group}=")), "")


def _limited(case: Case) -> bool:
    """Whether a rate limit (benchmark_write_rate_limit) limits the clients of the case."""
    return any(text.startswith(_LIMITED) for text in case.overrides)


def _flat(place: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield command-line overrides for nested values."""
    for key, value in values.items():
        if key == FAMILIES:
            yield f"+{place}.{key}={literal(value)}"
        elif isinstance(value, Mapping):
            yield from _flat(f"{place}.{key}", value)
        elif value is not None:
            yield f"{place}.{key}={literal(value)}"
