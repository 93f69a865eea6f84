"""Damaged LOGs cause no traceback, and no wrong total without a report of the damage."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from log_mutations import MUTATIONS, mutated
from log_sample import Sample, write_log
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.import_log import import_log
from lsmlab.validation.importer.importing import summarised
from lsmlab.validation.importer.reading import read

MUTATED_LOGS = 500
QUICK_LOGS = 160
"""The first of them are tested by `make test`, the others by `make test-slow`."""
TOTALS = (
    "flush_count", "flush_bytes", "compaction_count", "compaction_read_bytes", "compaction_write_bytes",
    "trivial_move_count", "write_amplification", "files_per_level", "stall_count",
)  # fmt: skip


@functools.cache
def clean() -> bytes:
    """Return the undamaged LOG."""
    return Sample().run(40).text.encode()


def totals_and_damage(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the totals of an import, and its counts of unreadable and missing parts."""
    reading = read(path)
    summary = summarised(reading).facts
    damage = {**reading.log.troubles, **reading.problems}
    assert sum(damage.values()) == sum(
        e["count"] for e in (*summary["import"]["troubles"], *summary["import"]["problems"])
    )
    return {name: summary[name] for name in TOTALS}, damage


@pytest.mark.parametrize(
    "seeds", [range(QUICK_LOGS), pytest.param(range(QUICK_LOGS, MUTATED_LOGS), marks=pytest.mark.slow)],
    ids=["quick", "others"],
)  # fmt: skip
@pytest.mark.parametrize("mutation", range(len(MUTATIONS)), ids=[m.__name__ for m in MUTATIONS])
def test_damage_is_reported(mutation: int, seeds: range, tmp_path: Path) -> None:
    """Totals that differ from the undamaged LOG's come with a count of damage; the only exception is InputError."""
    undamaged, damage = totals_and_damage(write_log(tmp_path, clean()))
    assert {} == damage
    unreported = []
    for seed in seeds[mutation :: len(MUTATIONS)]:
        try:
            totals, damage = totals_and_damage(write_log(tmp_path, mutated(clean(), seed)))
        except InputError:
            continue
        if totals != undamaged and not damage:
            unreported.append((seed, {name: totals[name] for name in TOTALS if totals[name] != undamaged[name]}))

    assert [] == unreported


@pytest.mark.parametrize("seed", range(len(MUTATIONS)), ids=[m.__name__ for m in MUTATIONS])
def test_damaged_logs_can_be_imported(seed: int, tmp_path: Path) -> None:
    """An import of a damaged LOG writes tables, configuration and page."""
    path = write_log(tmp_path, mutated(clean(), seed))

    assert 0 == import_log([str(path), "--out", str(tmp_path / "out")])
    assert (tmp_path / "out" / "report.html").is_file()


def test_jobs_before_the_open_are_no_error(tmp_path: Path) -> None:
    """The line of the open may stand at the end of a damaged LOG: then no job ran in its time, and none shows the cores."""
    lines = list(Sample().run(12).lines)
    pointer = next(line for line in lines if "DB pointer" in line)
    lines.remove(pointer)
    path = write_log(tmp_path, [*lines, lines[-1][:26] + pointer[26:]])

    assert 0 == import_log([str(path), "--out", str(tmp_path / "out")])


@pytest.mark.parametrize("year", ["2923", "1023", "2024"])
@pytest.mark.parametrize("place", [0, 5, 300, -1])
def test_an_isolated_wrong_time_stamp_is_ignored(place: int, year: str, tmp_path: Path) -> None:
    """One time stamp with a wrong year does not change the duration of the LOG, and is counted as unreadable."""
    lines = list(Sample().run(40).lines)
    at = place if place >= 0 else len(lines) - 1
    assert lines[at].startswith("2023")
    lines[at] = year + lines[at][4:]
    reading = read(write_log(tmp_path, lines))

    assert reading.summary["duration_s"] < 60
    assert 1 == reading.log.troubles["unreadable_stamps"]


def test_a_pause_of_weeks_is_no_error(tmp_path: Path) -> None:
    """Consistent time stamps after a pause of 40 days are no error."""
    first, second = Sample().run(10), Sample()
    second.now_us = first.now_us + 40 * 86_400 * 10**6
    second.run(10)
    path = write_log(tmp_path, [*first.lines, *second.lines])
    reading = read(path)

    assert {} == dict(reading.log.troubles)
    assert 40 * 86_400 < reading.summary["duration_s"] < 41 * 86_400
    assert 0 == import_log([str(path), "--out", str(tmp_path / "out"), "--no-report"])


@pytest.mark.parametrize("limit", [512, 4165])
def test_truncated_events_lose_no_bytes(limit: int, tmp_path: Path) -> None:
    """If a logger truncates long events (those of large compactions), all totals are still right."""
    sample = Sample().run(40)
    padding = '"padding": "' + "x" * 4000 + '", "num_subcompactions"'
    lines = [line.replace('"num_subcompactions"', padding)[:limit] for line in sample.lines]
    reading = read(write_log(tmp_path, lines))

    assert sample.totals == {name: reading.summary[name] for name in sample.totals}
    assert reading.log.troubles["cut_events"] >= sample.totals["compaction_count"]


def test_contradicting_numbers_are_outvoted(tmp_path: Path) -> None:
    """A wrong output size in an event loses against the message line and the file sizes, and is counted."""
    sample = Sample().run(10)
    wrong = [
        line.replace('"total_output_size": ', '"total_output_size": 9', 1) if "compaction_finished" in line else line
        for line in sample.lines
    ]
    reading = read(write_log(tmp_path, wrong))

    assert sample.totals["compaction_write_bytes"] == reading.summary["compaction_write_bytes"]
    assert sample.totals["compaction_count"] == reading.problems["contradictions"]


def test_missing_parts_are_counted_by_kind(tmp_path: Path) -> None:
    """Each kind of missing lines is counted under its own name."""
    lines = Sample().run(40).lines
    first = next(i for i, line in enumerate(lines) if "flush_finished" in line)
    cases = {
        "no_end": [line for line in lines if "Shutdown complete" not in line],
        "no_beginning": lines[len(lines) // 3 :],
        "missing_starts": [line for i, line in enumerate(lines) if "flush_started" not in line or i > first],
        "stall_mismatches": [line for line in lines if "Stopping writes" not in line],
        "missing_ends": [line for line in lines if "compaction_finished" not in line],
        "lsm_jumps": [line for line in lines if not any(f"[JOB {n}]" in line or f'"job": {n},' in line for n in (3, 4))],
    }  # fmt: skip
    for kind, left in cases.items():
        assert read(write_log(tmp_path, left)).problems[kind] > 0, kind
