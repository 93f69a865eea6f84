"""Values of summary.json from statistics tables alone, for db_bench's output, which has no events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lsmlab.models.policies.decisions import THROTTLE_CAUSES, StallCause
from lsmlab.sim.results.job_sums import write_amplification
from lsmlab.validation.logs.records import RocksDbLog
from lsmlab.validation.logs.stats import FamilyStats, StatsDump, blob_space_amplification, blob_state, total_stalls

_GIB: Final = 2.0**30
_FLUSHED, _COMPACTED, _COMPACTION_READS = (f"rocksdb.{name}.bytes" for name in ("flush.write", "compact.write", "compact.read"))
"""Tickers of the bytes that flushes and compactions wrote, and compactions read."""
_OF_FAMILY: Final = (
    "flush_count", "flush_bytes", "compaction_count", "compaction_write_bytes", "write_amplification", "live_bytes",
    "files_per_level", "levels", "stall_count",
)  # fmt: skip
"""Numbers of a column family."""
_ROUNDING: Final = 0.0051 * _GIB
"""Error of a sum of bytes, which RocksDB prints to 0.01 GB."""
_LEAST_GB: Final = 0.25
"""Least sum that rows of a table tell: they have 0.1 GB, so it is known to 20 %."""
_LEAST_S: Final = 0.01
"""Shortest time of which a rate is known."""


def summarise_tables(log: RocksDbLog, stall_lines: Mapping[str, int] | None = None) -> dict[str, Any] | None:
    """Summarise the last statistics dump, which is cumulative since the open, or tickers; None without either.

    `stall_lines`: by cause, the number of lines of stalls beside statistics that may count none.

    Sizes are rounded as RocksDB prints them. W-Amp counts ingested files among the bytes that came in, as RocksDB does
    (`curr_ingest` in InternalStats::DumpCFStatsNoFileHistogram). What the text does not have is None: with the statistics of the
    database alone the jobs, with a table of compactions or tickers alone the time.
    """
    with_tables = [d for d in log.dumps if any(f.levels for f in d.families.values())] or [d for d in log.dumps if d.db]
    if not with_tables and not log.tickers:
        return None
    dump = with_tables[-1] if with_tables else StatsDump(None, 0, 0)
    levels = _levels(dump)
    uptime = dump.uptime_s or next((b.seconds for b in log.benchmarks if b.seconds), None) or 0.0
    by_family = [size for f in dump.families.values() if (size := _flushed(f)) is not None]
    flushed = sum(by_family) if by_family else _flushed_by_sums(dump) or log.tickers.get(_FLUSHED)
    written, read_gb, jobs = _written(dump), _read(dump), _sum(dump, "Comp(cnt)")
    blobs, live = _blobs(dump), _sum(dump, "Size")
    if blobs and live is not None:  # the files of all levels are not all files
        live = None if blobs["bytes"] is None else live + blobs["bytes"]
    if written is None and flushed is not None and _COMPACTED in log.tickers:
        written = flushed + log.tickers[_COMPACTED]
    stall_s, counts = _stall_s(log, dump), total_stalls(dump)
    for cause, number in (stall_lines or {}).items():
        counts[cause] = max(counts.get(cause, 0), number)
    fraction = _stall_fraction(dump, stall_s, uptime, counts)
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
        "write_amplification": None if written is None or flushed is None else write_amplification(
            flushed, written - flushed, _ingested(dump, "bytes")
        ),
        "pairs": [],
        "files_per_level": _files(levels),
        "levels": levels,
        "live_bytes": live,
        "stall_seconds": dict.fromkeys(causes, 0.0 if fraction == 0.0 and not any(counts.values()) else None),
        "stall_interval_seconds": dict.fromkeys(causes),
        "stall_unattributed_s": stall_s,
        "stall_count": {cause: counts.get(cause, 0) for cause in causes},
        "stall_fraction": fraction,
        "stall_measured": {"seconds": stall_s, "until_s": uptime} if stall_s is not None else None,
        "longest_stall_s": None,
        "counted_from": "tables",
    }
    high = _of_pool(dump, "High")
    if high:  # flushes run in the high-priority pool (behaviour/log-and-statistics.md, Compaction Stats table)
        flushes = int(sum(row.get("Comp(cnt)", 0) for row in high))
        result["flush_count"] = flushes
        result["compaction_count"] = int(jobs) - flushes if jobs and jobs >= flushes else _low_jobs(dump)
    if any("files" in family.ingested for family in dump.families.values()):
        result["ingested_files"] = int(_ingested(dump, "files"))
    if blobs:
        result["blobs"] = blobs
    families = [name for name, family in dump.families.items() if family.levels]
    if len(families) > 1:
        result["column_families"] = {name: _of_family(dump, name) for name in families}
    return result | operations(dump.db, uptime, log.tickers)


def _of_family(dump: StatsDump, name: str) -> dict[str, Any]:
    """Return the numbers of one column family, as `summarise_tables` gives them for a database that has no other."""
    alone = StatsDump(dump.time_us, dump.opening, dump.line, families={name: dump.families[name]})
    found = summarise_tables(RocksDbLog("", dumps=[alone])) or {}
    return {key: found[key] for key in _OF_FAMILY}


def ingested(log: RocksDbLog, name: str) -> float:
    """Return a number of ingested files in the last statistics dump that has it (bytes, files, l0_files, keys); 0 if none has."""
    return next((_ingested(d, name) for d in reversed(log.dumps) if any(name in f.ingested for f in d.families.values())), 0.0)


def _ingested(dump: StatsDump, name: str) -> float:
    """Return a number of the ingested files of all families, such as their bytes."""
    return sum(family.ingested.get(name, 0.0) for family in dump.families.values())


def _written(dump: StatsDump) -> float | None:
    """Return the bytes that flushes and compactions wrote, as exactly as the dump has them; None if it has no sum."""
    families = list(dump.families.values())
    if len(families) == 1 and (total := dump.db.get("cumulative_compaction_write_bytes")):
        return total
    sums = [_all_written(row) for family in families if (row := family.row("Sum")) is not None and "Write(GB)" in row]
    return float(sum(sums)) * _GIB if families and len(sums) == len(families) else None


def _sum(dump: StatsDump, column: str) -> float | None:
    """Return the sum of a column over all families; None without the rows of their sums, as the table may be cut then."""
    rows = _sum_rows(dump)
    return float(sum(row[column] for row in rows)) if rows and all(column in row for row in rows) else None


def _read(dump: StatsDump) -> float | None:
    """Return the GiB that compactions read from SST files and blob files; None without their sums."""
    if _sum(dump, "Read(GB)") is not None:
        return sum(map(_all_read, _sum_rows(dump)))
    total = dump.db.get("cumulative_compaction_read_bytes")
    return total / _GIB if total is not None and len(dump.families) == 1 else None


def _low_jobs(dump: StatsDump) -> int | None:
    """Return the compactions in the tables by priority, where those by level are missing."""
    low = _of_pool(dump, "Low")
    return int(sum(row.get("Comp(cnt)", 0) for row in low)) if len(low) == len(dump.families) and low else None


def _of_pool(dump: StatsDump, priority: str) -> list[dict[str, Any]]:
    """Return the rows of all families for the jobs of a thread pool, "High" or "Low"."""
    return [row for family in dump.families.values() for row in family.priorities if row.get("Priority") == priority]


def _sum_rows(dump: StatsDump) -> list[dict[str, Any]]:
    """Return the row "Sum" of each family with a table; an empty one where it is missing."""
    return [family.row("Sum") or {} for family in dump.families.values() if family.levels]


def _blobs(dump: StatsDump) -> dict[str, float | None]:
    """Return the entry `blobs`, as a LOG with events has it; empty for a store without blob files.

    They show in the line "Blob file count", and in the columns Rblob and Wblob. Flushes run in the high-priority pool; without
    the table by priority their part is unknown, and so is that of the compactions, unless no compaction writes blobs.
    """
    state = blob_state(dump)
    read, written = _sum(dump, "Rblob(GB)"), _sum(dump, "Wblob(GB)")
    if not (state["files"] or read or written):
        return {}
    high = [row["Wblob(GB)"] for f in dump.families.values() for row in f.priorities if _has_blobs_of_flushes(row)]
    flushed = sum(high) if len(high) == len(_sum_rows(dump)) and high else None
    return {
        **state,
        "space_amplification": blob_space_amplification(state),
        "flush_write_bytes": None if flushed is None else flushed * _GIB,
        "compaction_read_bytes": None if read is None else read * _GIB,
        "compaction_write_bytes": None if flushed is None or written is None else max(0.0, written - flushed) * _GIB,
    }


def _has_blobs_of_flushes(row: Mapping[str, Any]) -> bool:
    return row.get("Priority") == "High" and "Wblob(GB)" in row


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
    """Return the flushed bytes that the rows "Sum" imply: their W-Amp is relative to them and ingested files; None if unknown."""
    rows = [row for family in dump.families.values() if (row := family.row("Sum")) is not None and row.get("Write(GB)")]
    if not all(row.get("W-Amp") for row in rows) or sum(_all_written(row) for row in rows) < _LEAST_GB:
        return None
    flushed = sum(_all_written(row) / float(row["W-Amp"]) for row in rows) * _GIB - _ingested(dump, "bytes")
    return flushed if flushed > 0.0 else None


def _all_written(row: Mapping[str, Any]) -> float:
    """Return the GiB that a row's jobs wrote to SST files and blob files."""
    return float(row.get("Write(GB)", 0.0) + row.get("Wblob(GB)", 0.0))


def _all_read(row: Mapping[str, Any]) -> float:
    """Return the GiB that a row's jobs read from SST files and blob files.

    RocksDB's Read contains Rblob (InternalStats, PrepareLevelStats); where it does not, the sum of the parts counts.
    """
    read, blobs = float(row.get("Read(GB)", 0.0)), float(row.get("Rblob(GB)", 0.0))
    return max(read, row.get("Rn(GB)", 0.0) + row.get("Rnp1(GB)", 0.0) + blobs) if blobs else read


def _stall_s(log: RocksDbLog, dump: StatsDump) -> float | None:
    if "cumulative_stall_s" in dump.db:
        return dump.db["cumulative_stall_s"]
    ticker = log.tickers.get("rocksdb.stall.micros")
    return ticker / 1e6 if ticker is not None else None


def _stall_fraction(dump: StatsDump, stall_s: float | None, uptime_s: float, counts: Mapping[str, int]) -> float | None:
    """Return the share of the time that writers waited; None if it is unknown.

    RocksDB adds a wait to its sum when it ends, so a sum of 0 beside a stop does not tell. Without the uptime, the percentage of
    the sum's line counts; without the sum, counters that are all 0 tell that there was no stall.
    """
    if stall_s is None:
        told = [family.stall_counts for family in dump.families.values()]
        return 0.0 if told and all(told) and not any(counts.values()) else None
    if not stall_s and any(number for cause, number in counts.items() if StallCause(cause).stops):
        return None
    if uptime_s:
        return min(1.0, stall_s / uptime_s)
    percent = dump.db.get("cumulative_stall_percent")
    return None if percent is None else min(1.0, percent / 100.0)


def _levels(dump: StatsDump) -> list[dict[str, Any]]:
    """Return the rows of all families by level.

    W-Amp is RocksDB's: bytes written to both kinds of files by those read from the levels above and from blob files; of L0 by
    those that came in. Without the flushed bytes, each byte that its jobs wrote counts as flushed.
    """
    flushed = [size for family in dump.families.values() if (size := _flushed(family)) is not None]
    rows: dict[int, dict[str, Any]] = {}
    blobs: dict[int, dict[str, float]] = {}
    for family in dump.families.values():
        for cells in family.levels:
            name = str(cells.get("Level", ""))
            if name[:1] == "L" and name[1:].isdigit():
                level = int(name[1:])
                _add(rows.setdefault(level, {"level": level}), cells)
                own = blobs.setdefault(level, {"Rblob(GB)": 0.0, "Wblob(GB)": 0.0})
                own |= {column: amount + cells.get(column, 0.0) * _GIB for column, amount in own.items()}
    for level, row in rows.items():
        written = row["write_bytes"] + blobs[level]["Wblob(GB)"]
        came_in = (sum(flushed) if len(flushed) == len(dump.families) else written) + _ingested(dump, "bytes")
        base = came_in if level == 0 else row["read_upper_bytes"] + blobs[level]["Rblob(GB)"]
        row["w_amp"] = written / base if base else None
    return [rows[level] for level in sorted(rows)]


def _add(row: dict[str, Any], cells: Mapping[str, Any]) -> None:
    amounts = {
        "files": float(str(cells.get("Files", "0")).split("/")[0]),
        "bytes": cells.get("Size", 0.0),
        "read_bytes": max(0.0, _all_read(cells) - cells.get("Rblob(GB)", 0.0)) * _GIB,
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
