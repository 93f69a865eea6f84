"""Numbers of a part of a run, from its tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.units import format_bytes, format_seconds
from lsmlab.sim.results.reading import read_summary
from lsmlab.sim.runs.stored_table import StoredTable

_YEAR_S: Final = 365.25 * 86400.0


@dataclass(frozen=True)
class WindowQuantity:
    """A number of a window."""

    label: str
    form: str
    """Kind of the number: count, seconds, ratio, share, bytes, bytes/s or years."""
    absolute: bool = False
    """Whether its error is a difference (in points), not a relative one."""

    def text(self, value: float | None) -> str:
        """Format a value."""
        if value is None:
            return "unknown"
        texts = {
            "count": f"{value:,.0f}", "seconds": format_seconds(value), "ratio": f"{value:.2f}",
            "share": f"{100 * value:.1f} %", "bytes": format_bytes(value), "bytes/s": f"{value / 1e6:,.1f} MB/s",
            "years": f"{value:.1f} y" if value < 1000 else "> 1000 y",
        }  # fmt: skip
        return texts[self.form]


QUANTITIES: Final = {
    "ops_per_s": WindowQuantity("ops/s", "count"),
    "write_p99_s": WindowQuantity("write P99", "seconds"),
    "write_amplification": WindowQuantity("W-Amp", "ratio"),
    "stalled": WindowQuantity("stalled", "share", absolute=True),
    "space_bytes": WindowQuantity("space", "bytes"),
    "written_per_s": WindowQuantity("written", "bytes/s"),
    "life_years": WindowQuantity("device life", "years"),
}
"""Numbers of a window by name. `write_p99_s`: P99 of a second, median over the seconds; `life_years`: rated writes of the
device at the rate of the window."""


def measure(folder: Path, from_s: float, to_s: float) -> dict[str, float | None]:
    """Return the numbers of `QUANTITIES` between two times of a stored run."""
    series, jobs = StoredTable(folder / "series.parquet"), StoredTable(folder / "jobs.parquet")
    endurance = (read_summary(folder).get("device") or {}).get("endurance_bytes")
    return measured(series, jobs, from_s, to_s, endurance)


def measured(
    series: Mapping[str, Any], jobs: Mapping[str, Any], from_s: float, to_s: float, endurance_bytes: float | None
) -> dict[str, float | None]:
    """Return the numbers of `QUANTITIES` between two times, from the columns of the tables of a run."""
    times = np.asarray(series["t_s"], dtype=np.float64)
    inside = (times > from_s + 0.5) & (times <= to_s + 0.5)
    seconds = max(1, int(inside.sum()))

    def total(beginning: str) -> float:
        return float(sum(np.asarray(series[name])[inside].sum() for name in series if name.startswith(beginning)))

    last = int(np.flatnonzero(inside)[-1])
    ended = (np.asarray(jobs["end_s"]) > from_s) & (np.asarray(jobs["end_s"]) <= to_s)
    written, kinds = np.asarray(jobs["write_bytes"], dtype=np.float64), np.asarray(jobs["kind"])
    flushed = float(written[ended & (kinds == "flush")].sum())
    compacted = float(written[ended & (kinds == "compaction")].sum())
    per_s = total("write_bytes_") / seconds
    served = np.asarray(series["write_ops"])[inside] > 0
    p99 = np.asarray(series["write_p99_s"])[inside][served]
    return {
        "ops_per_s": (total("write_ops") + total("read_ops")) / seconds,
        "write_p99_s": float(np.median(p99)) if len(p99) else None,
        "write_amplification": (flushed + compacted) / flushed if flushed else None,
        "stalled": total("stall_") / seconds,
        "space_bytes": float(sum(np.asarray(series[n])[last] for n in series if n.startswith("level_bytes_"))),
        "written_per_s": per_s,
        "life_years": endurance_bytes / per_s / _YEAR_S if endurance_bytes and per_s > 0.0 else None,
    }


def difference(name: str, value: float | None, reference: float | None) -> float | None:
    """Return the error of a number: relative, or in points for a share; None if it is unknown."""
    if value is None or reference is None:
        return None
    if QUANTITIES[name].absolute:
        return value - reference
    return value / reference - 1.0 if reference else math.nan if value else 0.0
