"""Generalisation: runs of one kind are predicted with constants that were fitted to runs of all other kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.models.workloads.make import make_workload
from lsmlab.validation.calibrate.fit import Calibration, fit_runs
from lsmlab.validation.calibrate.left_out import RELATIVE, STALL, determined, error_text, errors_of
from lsmlab.validation.calibrate.recorded import RecordedRun
from lsmlab.validation.casefiles.case import Case, find_cases, read_case

Configuration = Mapping[str, Any]
SEEDS: Final = (1,)
"""Seeds of each simulated run; the errors of a kind are those of several runs."""
_FIRST: Final = "ops_per_s"


def _option(config: Configuration, key: str) -> Any:
    return config["engine"]["options"][key]


def _device(config: Configuration, *keys: str) -> bool:
    return any(config["device"][key] for key in keys)


def _value_bytes(config: Configuration) -> float:
    return make_workload(config["workload"]).value_bytes


def _memtable_bytes(config: Configuration) -> float:
    return parse_quantity(_option(config, "write_buffer_size"), "bytes")


KINDS: Final[Mapping[str, Callable[[Configuration], bool]]] = MappingProxyType({
    "a WAL": lambda config: not _option(config, "disable_wal"),
    "several client threads": lambda config: sum(c.threads for c in make_workload(config["workload"]).clients) > 1,
    "clients that read": lambda config: any(c.mix.writes < 1.0 for c in make_workload(config["workload"]).clients),
    "no cap and no rate limiter": lambda config: not (
        _device(config, "write_cap", "read_cap", "iops_cap") or _option(config, "rate_limiter_bytes_per_sec")
    ),
    "a cap on operations": lambda config: _device(config, "iops_cap"),
    "a rate limiter": lambda config: bool(_option(config, "rate_limiter_bytes_per_sec")),
    "dynamic level sizes": lambda config: bool(_option(config, "level_compaction_dynamic_level_bytes")),
    "universal or FIFO compaction": lambda config: _option(config, "compaction_style") not in (None, "level"),
    "values of 100 bytes and less": lambda config: _value_bytes(config) <= 100.0,
    "values of 1000 bytes and more": lambda config: _value_bytes(config) >= 1000.0,
    "memtables of 16 MiB and more": lambda config: _memtable_bytes(config) >= 2**24,
})  # fmt: skip
"""Kinds of run by their names: conditions on the configuration of a case. A run may be of several kinds."""


@dataclass(frozen=True, slots=True)
class GroupOut:
    """Runs of one kind, simulated with constants that were fitted to the other kinds."""

    kind: str
    left_out: tuple[str, ...]
    """Calibration cases of this kind, which the fit did not use; empty if the calibration part has none."""
    errors: Mapping[str, Mapping[str, float]]
    """Errors as in `LeftOut`, by case: all recorded cases of this kind on the machine."""
    at_prior: tuple[str, ...]
    """Constants that only the cases left out determine."""
    nothing_left_out: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The same errors with the constants fitted to all cases; empty if they were not computed."""


def leave_group_out(folders: Sequence[Path], found: Calibration) -> Iterator[GroupOut]:
    """Yield each kind of run in `folders`, predicted from the other kinds of the fit `found`.

    Kinds that no case has, and kinds without which the fit has no case, are left out. Raises InputError without a case of
    the fit's machine.
    """
    cases = [case for folder in folders for case in map(read_case, find_cases(folder)) if case.logs]
    on_machine = [(case, config) for case in cases if (config := case.config([]))["host"]["parameters"] == found.machine]
    if not on_machine:
        raise InputError(f"{', '.join(map(str, folders))}: contain no recorded case with host.parameters={found.machine}")
    for kind, of_kind in KINDS.items():
        scored = [case for case, config in on_machine if of_kind(config)]
        used = [run for run in found.runs if not of_kind(run.config)]
        if scored and used:
            yield _group(kind, scored, used, found)


def _group(kind: str, scored: Sequence[Case], used: Sequence[RecordedRun], found: Calibration) -> GroupOut:
    _, others = fit_runs(found.device, used)
    left_out = sorted({run.case for run in found.runs} - {run.case for run in used})
    lost = determined(found.solution) - determined(others)
    errors = {case.name: errors_of(case, others, SEEDS, assertions=found.assertions) for case in scored}
    return GroupOut(kind, tuple(left_out), errors, tuple(sorted(lost)))


def group_table(groups: Sequence[GroupOut]) -> str:
    """Return a Markdown table of all kinds, with median, P90 and worst of the absolute errors.

    If a group has them, a column shows the errors of throughput with nothing left out.
    """
    compared = any(group.nothing_left_out for group in groups)
    whole = [f"{RELATIVE[_FIRST]}, nothing left out"] if compared else []
    head = [*RELATIVE.values(), "stall", *whole]
    lines = [
        "| runs with | runs | left out of the fit | " + " | ".join(head) + " | constants that only these determine |",
        "|" + "---|" * (len(head) + 4),
    ]
    for group in groups:
        cells = [_summary(name, group.errors) for name in (*RELATIVE, STALL)]
        cells += [_summary(_FIRST, group.nothing_left_out)] if compared else []
        row = [group.kind, str(len(group.errors)), str(len(group.left_out) or "none in it"), *cells, ", ".join(group.at_prior)]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _summary(name: str, errors: Mapping[str, Mapping[str, float]]) -> str:
    sizes = [abs(of_case[name]) for of_case in errors.values() if name in of_case]
    if not sizes:
        return ""
    shown = (float(np.median(sizes)), float(np.quantile(sizes, 0.9, method="inverted_cdf")), max(sizes))
    texts = [error_text(name, size) for size in shown]
    unit = texts[0].partition(" ")[2]
    return " / ".join(text.partition(" ")[0] for text in texts) + f" {unit}"
