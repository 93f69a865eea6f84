"""The summary of a LOG agrees with the statistics that RocksDB printed into it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsmlab.validation.importer.text import _stalls
from lsmlab.validation.logs.history.builder import jobs_of
from lsmlab.validation.logs.history.summary import last_dump, origin_us, summarise_log
from lsmlab.validation.logs.reader import read_log
from lsmlab.validation.logs.records import RocksDbLog
from lsmlab.validation.logs.stats import total_stalls

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "validation" / "recordings"


@pytest.fixture(scope="module", params=("static", "dynamic", "parallel"))
def log(request: pytest.FixtureRequest) -> RocksDbLog:
    """Read the LOG of each recording once."""
    return read_log(RECORDINGS / request.param / "LOG.xz")


def test_the_summary_matches_the_last_dump(log: RocksDbLog) -> None:
    """Jobs, written bytes and sizes by level, and stall lines, up to a statistics dump equal those of the dump.

    RocksDB counts a job before its commit, so the table may contain one more job.
    """
    dump = last_dump(log, log.last_us or 0)
    assert dump is not None
    assert dump.time_us is not None
    summary = summarise_log(log, until_s=(dump.time_us - origin_us(log)) / 1e6)
    family = dump.families["default"]
    for level in summary["levels"]:
        row = family.row(f"L{level['level']}")
        assert row is not None
        assert row["Comp(cnt)"] - level["jobs"] in (0, 1)
        assert row["Write(GB)"] * 2**30 == pytest.approx(level["write_bytes"], abs=0.051 * 2**30)
        assert row["Size"] == pytest.approx(level["bytes"], rel=0.01)
        assert row["Files"].split("/")[0] == str(level["files"])
    assert total_stalls(dump) == summary["stall_count"]


def test_parts_add_up(log: RocksDbLog) -> None:
    """Bytes by level pair and by output level sum to the totals; `until_s` keeps only jobs committed before it."""
    summary = summarise_log(log)
    half = summarise_log(log, until_s=summary["duration_s"] / 2)

    assert summary["compaction_write_bytes"] == sum(p["write_bytes"] for p in summary["pairs"])
    assert summary["compaction_read_bytes"] == sum(r["read_bytes"] for r in summary["levels"])
    assert summary["compaction_write_bytes"] + summary["flush_bytes"] == sum(r["write_bytes"] for r in summary["levels"])
    assert 0 < half["flush_count"] < summary["flush_count"]
    assert summary["write_amplification"] == pytest.approx(1 + summary["compaction_write_bytes"] / summary["flush_bytes"])


def test_complete_logs_have_no_problems(log: RocksDbLog) -> None:
    """A complete LOG has no damage and no problems."""
    assert {} == dict(log.troubles)
    assert {} == {kind: n for kind, n in jobs_of(log).problems.items() if n}


def test_slowdowns_without_a_measured_stall_are_an_upper_bound() -> None:
    """A LOG without statistics shows how long writers were slowed, not how long they waited; of stops it shows the wait."""
    summary = {
        "stall_fraction": 0.4, "stall_measured": None, "stall_seconds": {"l0_slowdown": 30.0, "memtable_stop": 10.0},
        "stall_count": {"l0_slowdown": 3, "memtable_stop": 2},
    }  # fmt: skip
    stops = {"stall_seconds": {"l0_slowdown": 0.0, "memtable_stop": 40.0}, "stall_count": {"l0_slowdown": 0, "memtable_stop": 2}}

    assert "at most 40.0 % of the time" in _stalls(summary)[0]
    assert "at most" not in _stalls({**summary, "stall_measured": {"seconds": 40.0, "until_s": 100.0}})[0]
    assert "at most" not in _stalls({**summary, **stops})[0]
