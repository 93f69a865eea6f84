"""Rows of the tables of public runs, and what their columns mean for a case."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError

DATA: Final = Path("../shared/data/public_runs")
"""Where the data lie beside a checkout."""
DEVICES: Final = {"NVMeSSD": "nvme", "SATASSD": "sata", "SATAHDD": "hdd", "PM": "pmem"}
"""Their names are classes, not models."""
ENGINES: Final = {
    "kCompactionStyleLevel": "rocksdb",
    "kCompactionStyleUniversal": "universal",
    "kCompactionStyleFIFO": "fifo",
}
"""Column opt_compaction_style."""
_INTEGERS: Final = (
    "write_buffer_size", "max_write_buffer_number", "min_write_buffer_number_to_merge", "level0_file_num_compaction_trigger",
    "level0_slowdown_writes_trigger", "level0_stop_writes_trigger", "max_bytes_for_level_base", "target_file_size_base",
    "max_background_jobs", "max_background_compactions", "max_background_flushes", "delayed_write_rate",
    "soft_pending_compaction_bytes_limit", "hard_pending_compaction_bytes_limit", "num_levels", "bytes_per_sync",
    "max_compaction_bytes",
)  # fmt: skip
"""Columns opt_* that are options under their own name. A -1 means "not set"."""


def rows(path: Path) -> Iterator[dict[str, str]]:
    """Rows of one of the tables. Raises InputError if it is not there."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; the public runs belong into the folder ../shared/data/public_runs")
    with path.open(newline="") as file:
        yield from csv.DictReader(file)


def logs(data: Path) -> dict[str, str]:
    """Names of the LOGs at hand, relative to `data`, by path of the table's row."""
    return {row["run_path"]: f"logs/{row['log']}" for row in rows(data / "logs_index.csv")}


def options(row: Mapping[str, str]) -> dict[str, Any]:
    """Options of a run of RocksDB from the columns opt_*, where they are set."""
    found: dict[str, Any] = {}
    for name in _INTEGERS:
        text = row.get(f"opt_{name}", "")
        if text and int(text) >= 0:
            found[name] = int(text)
    multiplier = row.get("opt_max_bytes_for_level_multiplier")
    if multiplier:
        found["max_bytes_for_level_multiplier"] = float(multiplier)
    return found
