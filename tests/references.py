"""Main numbers of reference runs, in one file that people can read and compare: tests/testdata/references.yaml.

Each entry of the file has the overrides of a run (`run`) and its numbers by name (`values`). A number that is zero or
does not apply is left out.
"""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml
from lsmlab.sim.results.results import Result

FILE: Final = Path(__file__).parent / "testdata" / "references.yaml"
TOLERANCE: Final = 1e-6
"""Largest relative difference of a value."""
_SUMMARY: Final = (
    "duration_s", "operations", "read_ops_per_s", "flush_count", "flush_bytes", "compaction_count", "trivial_move_count",
    "drop_count", "link_count", "compaction_read_bytes", "compaction_write_bytes", "write_amplification",
    "read_amplification", "space_amplification", "live_entries", "device_bytes_written", "device_bytes_read",
    "device.utilisation", "cpu.background_core_seconds", "stall_seconds", "longest_stall_s", "chain_bytes.mean",
    "files_per_level", "write_latency_s.mean", "write_latency_s.p99", "read_latency_s.mean", "read_latency_s.p99",
    "scan_latency_s.mean", "lost_operations.total",
)  # fmt: skip
"""Keys of summary.json, with those of inner tables after a dot."""
_SUMS: Final = {
    "jobs": ("end_s", "device_s", "slot_wait_s", "core_wait_s", "limiter_wait_s", "halted_s"),
    "series": ("backlog_ops", "l0_files", "pending_bytes", "level_bytes_2"),
    "events": ("largest", "bytes"),
}
"""Columns of the tables; the sum of each is a value of the run."""
_ROUNDING: Final = 1e-8
"""Smaller numbers are differences of rounding, such as a wait of 1e-15 s; a client's operation takes longer than 1e-7 s."""

Values = dict[str, float]


def stored() -> dict[str, dict[str, Any]]:
    """Return `run` and `values` of each reference run by its name."""
    return dict(yaml.safe_load(FILE.read_text(encoding="utf-8")))


def overrides(name: str) -> list[str]:
    """Return the overrides of a reference run."""
    return shlex.split(stored()[name]["run"])


def values_of(result: Result) -> Values:
    """Return the numbers of a run that are not zero up to rounding."""
    found: Values = {}
    for key in _SUMMARY:
        value: Any = result.summary
        for part in key.split("."):
            value = (value or {}).get(part)
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        found |= {f"{key}.{name}": item for name, item in items} or {key: value}
    for table, columns in _SUMS.items():
        content = getattr(result, table)
        found |= {f"sum of {table}.{c}": float(np.nansum(content[c])) for c in columns if c in content}
    return {name: value for name, value in found.items() if abs(value or 0.0) >= _ROUNDING}


def rewrite(name: str, values: Values) -> None:
    """Replace the values of one run in the file."""
    text = FILE.read_text(encoding="utf-8")
    head = text[: text.index("\n\n") + 2]
    content = yaml.safe_load(text)
    content[name]["values"] = values
    FILE.write_text(head + yaml.safe_dump(content, sort_keys=False, width=120), encoding="utf-8")


def moved(expected: Values, actual: Values) -> list[str]:
    """Describe each value that differs by more than the tolerance; a value that is left out is zero."""
    return [
        f"{name}: {old!r} became {new!r}" + (f" ({(new - old) / abs(old):+.2g})" if old else "")
        for name in dict.fromkeys([*expected, *actual])
        if not math.isclose(old := expected.get(name, 0.0), new := actual.get(name, 0.0), rel_tol=TOLERANCE)
    ]
