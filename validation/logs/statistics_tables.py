"""Values of summary.json from statistics tables alone, for db_bench's output, which has no events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lsmlab.models.policies.decisions import THROTTLE_CAUSES
from lsmlab.validation.logs.records import RocksDbLog
from lsmlab.validation.logs.stats import FamilyStats, StatsDump, total_stalls

_GIB: Final = 2.0**30
_FLUSHED, _COMPACTED, _COMPACTION_READS = (f"rocksdb.{name}.bytes" for name in ("flush.write", "compact.write", "compact.read"))
"""Tickers of the bytes that flushes and compactions wrote, and compactions read."""
_ROUNDING: Final = 0.0051 * _GIB
"""Error of a sum of bytes, which RocksDB prints to 0.01 GB."""
_LEAST_GB: Final = 0.25
"""Least sum that rows of a table tell: they have 0.1 GB, so it is known to 20 %."""
_LEAST_S: Final = 0.01
"""Shortest time of which a rate is known."""


def summarise_tables(log: RocksDbLog) -> dict[str, Any] | None:
    """Summarise the last statistics dump, which is cumulative since the open, or tickers; None without either.

    Sizes are rounded as RocksDB prints them. What the text does not have is None: with the statistics of the database alone
    the jobs, with a table of compactions or tickers alone the time.
    """
    with_tables = [d for d in log.dumps if any(f.levels for f in d.families.values())] or [d for d in log.dumps if d.db]
    if not with_tables and not log.tickers:
        return None
    dump = with_tables[-1] if with_tables else StatsDump(None, 0, 0)
    levels = _levels(dump)
    uptime = dump.uptime_s or next((b.seconds for b in log.benchmarks if b.seconds), None) or 0.0
    by_family = [size for f in dump.families.values() if (size := _flushed(f)) is not None]
    flushed = sum(by_family) if by_family else _flushed_by_sums(dump) or log.tickers.get(_FLUSHED)
    written, read_gb, jobs = _written(dump), _sum(dump, "Read(GB)"), _sum(dump, "Comp(cnt)")
    if written is None and flushed is not None and _COMPACTED in log.tickers:
        written = flushed + log.tickers[_COMPACTED]
    stall_s, counts = _stall_s(log, dump), total_stalls(dump)
    causes = list(dict.fromkeys([*(cause.value for cause in THROTTLE_CAUSES), *counts]))
    result: dict[str, Any] = {
        "duration_s": uptime or None,
        "flush_count": None,
        "flush_bytes": flushed,
        "compaction_count": None,
        "trivial_move_count": None,
        "drop_count": None,
        "compaction_read_bytes": log.tickers.get(_COMPACTION_READS) if read_gb is None else read_gb * _GIB,
        "compaction_write_bytes": _compacted(written, flushed),
        "write_amplification": written / flushed if written is not None and flushed else None,
        "pairs": [],
        "files_per_level": _files(levels),
        "levels": levels,
        "live_bytes": _sum(dump, "Size"),
        "stall_seconds": dict.fromkeys(causes, None if stall_s or any(counts.values()) else 0.0),
        "stall_interval_seconds": dict.fromkeys(causes),
        "stall_unattributed_s": stall_s,
        "stall_count": {cause: counts.get(cause, 0) for cause in causes},
        "stall_fraction": min(1.0, stall_s / uptime) if stall_s is not None and uptime else None,
        "stall_measured": {"seconds": stall_s, "until_s": uptime} if stall_s is not None else None,
        "longest_stall_s": None,
        "counted_from": "tables",
    }
    high = [row for f in dump.families.values() for row in f.priorities if row.get("Priority") == "High"]
    if high:  # flushes run in the high-priority pool (behaviour/log-and-statistics.md, Compaction Stats table)
        result["flush_count"] = int(sum(row.get("Comp(cnt)", 0) for row in high))
        result["compaction_count"] = int(jobs) - result["flush_count"] if jobs and jobs >= result["flush_count"] else None
    return result | operations(dump.db, uptime, log.tickers)


def _written(dump: StatsDump) -> float | None:
    """Return the bytes that flushes and compactions wrote, as exactly as the dump has them; None if it has no sum."""
    families = list(dump.families.values())
    if len(families) == 1 and (total := dump.db.get("cumulative_compaction_write_bytes")):
        return total
    sums = [_all_written(row) for family in families if (row := family.row("Sum")) is not None and "Write(GB)" in row]
    return float(sum(sums)) * _GIB if families and len(sums) == len(families) else None


def _sum(dump: StatsDump, column: str) -> float | None:
    """Return the sum of a column over all families; None without the rows of their sums, as the table may be cut then."""
    rows = [family.row("Sum") or {} for family in dump.families.values() if family.levels]
    return float(sum(row[column] for row in rows)) if rows and all(column in row for row in rows) else None


def _compacted(written: float | None, flushed: float | None) -> float | None:
    """Return the bytes that compactions wrote; None if they are unknown, or less than the rounding of the sums."""
    if written is None or flushed is None:
        return None
    compacted = written - flushed
    return compacted if compacted == 0.0 or compacted > _ROUNDING else None


def _flushed(family: FamilyStats) -> float | None:
    """Return the bytes that the flushes of a family wrote; None if its statistics do not have them."""
    high = next((_all_written(row) for row in family.priorities if row.get("Priority") == "High"), 0.0)
    return family.flush_bytes if family.flush_bytes is not None else high * _GIB if high >= _LEAST_GB else None


def _flushed_by_sums(dump: StatsDump) -> float | None:
    """Return the flushed bytes that the rows "Sum" imply: their W-Amp is relative to them; None without such rows."""
    rows = [row for family in dump.families.values() if (row := family.row("Sum")) is not None and row.get("Write(GB)")]
    if not all(row.get("W-Amp") for row in rows) or sum(_all_written(row) for row in rows) < _LEAST_GB:
        return None
    return sum(_all_written(row) / float(row["W-Amp"]) for row in rows) * _GIB


def _all_written(row: Mapping[str, Any]) -> float:
    """Return the GiB that a row's jobs wrote to SST files and blob files."""
    return float(row.get("Write(GB)", 0.0) + row.get("Wblob(GB)", 0.0))


def _stall_s(log: RocksDbLog, dump: StatsDump) -> float | None:
    if "cumulative_stall_s" in dump.db:
        return dump.db["cumulative_stall_s"]
    ticker = log.tickers.get("rocksdb.stall.micros")
    return ticker / 1e6 if ticker is not None else None


def _levels(dump: StatsDump) -> list[dict[str, Any]]:
    rows: dict[int, dict[str, Any]] = {}
    for family in dump.families.values():
        for cells in family.levels:
            name = str(cells.get("Level", ""))
            if name[:1] == "L" and name[1:].isdigit():
                _add(rows.setdefault(int(name[1:]), {"level": int(name[1:])}), cells)
    for row in rows.values():
        base = row["write_bytes"] if row["level"] == 0 else row["read_upper_bytes"]
        row["w_amp"] = row["write_bytes"] / base if base else None
    return [rows[level] for level in sorted(rows)]


def _add(row: dict[str, Any], cells: Mapping[str, Any]) -> None:
    amounts = {
        "files": float(str(cells.get("Files", "0")).split("/")[0]),
        "bytes": cells.get("Size", 0.0),
        "read_bytes": cells.get("Read(GB)", 0.0) * _GIB,
        "read_upper_bytes": cells.get("Rn(GB)", 0.0) * _GIB,
        "read_output_bytes": cells.get("Rnp1(GB)", 0.0) * _GIB,
        "write_bytes": cells.get("Write(GB)", 0.0) * _GIB,
        "moved_bytes": cells.get("Moved(GB)", 0.0) * _GIB,
        "jobs": cells.get("Comp(cnt)", 0.0),
        "busy_s": cells.get("Comp(sec)", 0.0),
        "cpu_s": cells.get("CompMergeCPU(sec)", 0.0),
        "entries_in": cells.get("KeyIn", 0.0),
        "entries_dropped": cells.get("KeyDrop", 0.0),
    }
    for name, amount in amounts.items():
        whole = name in ("files", "jobs", "entries_in", "entries_dropped")
        row[name] = row.get(name, 0) + (int(amount) if whole else amount)


def _files(levels: list[dict[str, Any]]) -> list[int]:
    counts = [0] * (max((row["level"] for row in levels), default=-1) + 1)
    for row in levels:
        counts[row["level"]] = row["files"]
    return counts


def operations(counters: Mapping[str, float], until_s: float, tickers: Mapping[str, float]) -> dict[str, Any]:
    """Return the writes of `until_s` seconds from a dump's counters (`StatsDump.db`) of this time; empty if it has none.

    Without a time there is no rate. `tickers` are used where the dump has no number. Pipelined writes leave the dump's "writes"
    at 0, so its "keys" count.
    """
    names = ("cumulative_keys", "cumulative_writes")
    writes = next((n for name in names if (n := counters.get(name))), tickers.get("rocksdb.number.keys.written"))
    if not writes:
        return {}
    ingested = counters.get("cumulative_ingest_bytes")
    rate = {"operations_until_s": until_s, "write_ops_per_s": writes / until_s} if until_s >= _LEAST_S else {}
    return {
        "operations": writes, **rate, "user_bytes_written": ingested or tickers.get("rocksdb.bytes.written", ingested),
    }  # fmt: skip
