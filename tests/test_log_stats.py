"""Statistics dumps: tables by header, counters of both wordings, cumulative and interval numbers."""

from __future__ import annotations

import pytest
from lsmlab.validation.logs.stats import StatsDump, StatsReader, total_stalls

HEADERS = {
    "5.7": "Level    Files   Size(MB)   Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) "
    "Comp(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop",
    "7.8": "Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) "
    "Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop Rblob(GB) Wblob(GB)",
    "10.4": "Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) WPreComp(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) "
    "Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop Rblob(GB) Wblob(GB)",
}  # fmt: skip
ROWS = {
    "5.7": "  L1      4/1    256.00   1.0      1.5     0.5      1.0       1.4      0.4       0.2   2.8     20.0     18.0 "
    "     77.0        12    6.417     12M   139K",
    "7.8": "  L1      4/1   256.00 MB   1.0      1.5     0.5      1.0       1.4      0.4       0.2   2.8     20.0     18.0 "
    "     77.00             33.00        12    6.417     12M   139K       0.0       0.0",
    "10.4": "  L1      4/1   256.00 MB   1.0      1.5     0.5      1.0       1.4      3.0      0.4       0.2   2.8     20.0 "
    "    18.0      77.00             33.00        12    6.417     12M   139K       0.0       0.0",
}  # fmt: skip


def dump_of(*lines: str) -> StatsDump:
    """Read the lines of one dump, of which each but a line of dashes belongs to it."""
    reader = StatsReader()
    assert [not line.startswith("--") for line in lines] == [reader.take(line, None, 0) for line in lines]
    return reader.dumps[0]


@pytest.mark.parametrize("version", list(HEADERS))
def test_tables_are_read_by_header(version: str) -> None:
    """The reader finds columns by the header: tables have 17 to 21 columns, and sizes in MB or with a unit."""
    dump = dump_of("** Compaction Stats [default] **", HEADERS[version], "-" * 80, ROWS[version])
    row = dump.families["default"].row("L1")

    assert row is not None
    assert 256 * 2**20 == row["Size"]
    assert (1.5, 1.4, 0.4, 77.0, 12, 12e6, 139e3) == tuple(
        row[name] for name in ("Read(GB)", "Write(GB)", "Wnew(GB)", "Comp(sec)", "Comp(cnt)", "KeyIn", "KeyDrop")
    )
    assert 0 == dump.unreadable


def test_a_row_with_a_missing_cell_is_unreadable() -> None:
    """A row with a missing cell is counted as unreadable and not shifted into wrong columns."""
    dump = dump_of("** Compaction Stats [default] **", HEADERS["7.8"], ROWS["7.8"].replace("1.0", "", 1))

    assert 1 == dump.unreadable
    assert [] == dump.families["default"].levels


@pytest.mark.parametrize(
    "line",
    [
        "Stalls(count): 3 level0_slowdown, 2 level0_slowdown_with_compaction, 1 level0_numfiles, "
        "1 level0_numfiles_with_compaction, 4 stop for pending_compaction_bytes, "
        "5 slowdown for pending_compaction_bytes, 6 memtable_compaction, 7 memtable_slowdown, "
        "interval 26 total count",
        "Write Stall (count): cf-l0-file-count-limit-delays-with-ongoing-compaction: 2, "
        "cf-l0-file-count-limit-stops-with-ongoing-compaction: 1, l0-file-count-limit-delays: 3, l0-file-count-limit-stops: 1, "
        "memtable-limit-delays: 7, memtable-limit-stops: 6, "
        "pending-compaction-bytes-delays: 5, pending-compaction-bytes-stops: 4, "
        "total-delays: 15, total-stops: 11",
    ],
    ids=["Stalls(count)", "Write Stall (count)"],
)
def test_stall_counters_of_both_wordings(line: str) -> None:
    """Stall counters are read in the wordings before and after 8.1, which changed names and order."""
    assert {
        "l0_slowdown": 3, "l0_stop": 1, "pending_stop": 4, "pending_slowdown": 5, "memtable_stop": 6, "memtable_slowdown": 7,
    } == total_stalls(dump_of("** Compaction Stats [default] **", line))  # fmt: skip


def test_statistics_cumulative_and_interval() -> None:
    """Writes, keys, stalls and WAL bytes are read with their units, cumulative and per interval."""
    dump = dump_of(
        "** DB Stats **",
        "Uptime(secs): 726.2 total, 123.2 interval",
        "Cumulative writes: 10M writes, 11M keys, 10M commit groups, 1.0 writes per commit group, ingest: 76.59 GB, 108.00 MB/s",
        "Cumulative WAL: 10M writes, 0 syncs, 10000000.00 writes per sync, written: 76.59 GB, 108.00 MB/s",
        "Cumulative stall: 01:09:50.644 H:M:S, 81.3 percent",
        "Interval writes: 1254K writes, 1254K keys, 1254K commit groups, 1.0 writes per commit group, "
        "ingest: 9840.88 MB, 79.86 MB/s",
        "Interval stall: 00:01:45.095 H:M:S, 85.3 percent",
    )

    assert (726.2, 123.2) == (dump.uptime_s, dump.interval_s)
    assert (11e6, 1254e3) == (dump.db["cumulative_keys"], dump.db["interval_keys"])
    assert (4190.644, 105.095) == (dump.db["cumulative_stall_s"], dump.db["interval_stall_s"])
    assert 76.59 * 2**30 == pytest.approx(dump.db["cumulative_wal_bytes"])
    assert 9840.88 * 2**20 == pytest.approx(dump.db["interval_ingest_bytes"])


@pytest.mark.parametrize(
    "row", [ROWS["7.8"].replace("4/1", "18446744073709551615/1"), ROWS["7.8"].replace("12M", f"{10**30}M")]
)
def test_a_number_that_no_store_has_is_kept_for_the_refusal(row: str) -> None:
    """A counter that went below 0, or doubled digits: the dump names the line, and no column has the value."""
    reader = StatsReader()
    for number, line in enumerate(("** Compaction Stats [default] **", HEADERS["7.8"], row), 1):
        assert reader.take(line, None, 0, number)

    assert reader.dumps[0].impossible is not None
    assert 3 == reader.dumps[0].impossible[0]
    assert [] == reader.dumps[0].families["default"].levels
