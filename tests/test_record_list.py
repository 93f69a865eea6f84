"""Records of a large LOG: the temporary file changes memory, not order or content."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from log_sample import Sample, write_log
from lsmlab.validation.importer.reading import read
from lsmlab.validation.logs import record_list
from lsmlab.validation.logs.hash_set import HashSet
from lsmlab.validation.logs.record_list import Record, RecordList
from lsmlab.validation.logs.records import Event, StallLine, SwitchLine

RECORDS = 2_000


def logged(seed: int) -> list[Record]:
    """Records whose lines were written up to 300 lines after their time, some at the same time and line as others."""
    draws = random.Random(seed)
    found: list[Record] = []
    for line in range(RECORDS):
        time_us = (line - draws.randrange(300)) // 2
        found.append(
            draws.choice(
                [
                    SwitchLine(time_us, "7f", line // 2, line // 900, "default", line % 3),
                    StallLine(time_us, "7e", line // 2, 0, "lock", "Stopping writes"),
                    Event(time_us, "7d", line // 2, 0, "flush_started", line, {"job": line, "files_L0": [1, 2]}),
                ]
            )
        )
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_file_changes_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records in the file come back equal, in time order and in file order, of all kinds or of some."""
    monkeypatch.setattr(record_list, "_MOST", 300)
    monkeypatch.setattr(record_list, "_BLOCK", 70)
    expected = logged(seed)
    records: RecordList[Record] = RecordList()
    for number, record in enumerate(expected, 1):
        records.append(record)
        if number == RECORDS // 2:  # the clock was set forward 200 records before
            records.move_back(number - 200, 5, lambda record: record.time_us % 2 == 0)
    records.sort()
    for i in range(RECORDS // 2 - 200, RECORDS // 2):
        if expected[i].time_us % 2 == 0:
            expected[i] = replace(expected[i], time_us=expected[i].time_us - 5)
    in_time = sorted(expected, key=lambda record: (record.time_us, record.line))

    assert RECORDS == len(records)
    assert in_time == list(records)
    assert in_time[-1] == records.last
    assert expected == list(records.in_file_order(Record))
    assert [r for r in in_time if isinstance(r, SwitchLine)] == list(records.of(SwitchLine))


def test_a_log_in_a_file_gives_the_same_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A LOG whose records do not fit in memory has the summary, the gaps and the stalls of one whose records do."""
    path = write_log(tmp_path, Sample().run(60).lines)
    inside = read(path)
    monkeypatch.setattr(record_list, "_MOST", 40)
    monkeypatch.setattr(record_list, "_BLOCK", 15)
    outside = read(path)

    assert len(outside.log.records) > 40
    assert inside.summary == outside.summary
    assert (inside.problems, inside.log.troubles) == (outside.problems, outside.log.troubles)
    assert inside.stalls == outside.stalls


def test_memory_does_not_grow_with_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 records with a limit of 2,000 take less than 2 MB; in memory they need 5."""
    monkeypatch.setattr(record_list, "_MOST", 2_000)
    monkeypatch.setattr(record_list, "_BLOCK", 1_000)
    records: RecordList[Record] = RecordList()
    tracemalloc.start()
    for line in range(20_000):
        records.append(StallLine(1_000_000 + line, "7f01", 1_000_000 + line, 0, "default", f"Stopping writes because of {line}"))
    records.sort()
    assert 20_000 == sum(1 for _ in records)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak_bytes < 2 << 20


def test_hashes() -> None:
    """A set of hashes contains what was added, also 0, negative ones and those from before it grew."""
    draws = random.Random(1)
    added = [0, *(draws.randrange(-(1 << 63), 1 << 63) for _ in range(5_000))]
    found = HashSet()
    for value in added:
        assert value not in found
        found.add(value)

    assert all(value in found for value in added)
    assert added[1] + 1 not in found
