"""Damaged logs: never a traceback, never a total that is silently wrong."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from log_mutations import MUTATIONS, mutated
from log_sample import Sample
from lsmlab.models.errors import InputError
from lsmlab.validation.importer.reading import read
from lsmlab.validation.importer.verb import import_log, summarised

MUTATED_LOGS = 500
TOTALS = (
    "flush_count", "flush_bytes", "compaction_count", "compaction_read_bytes", "compaction_write_bytes",
    "trivial_move_count", "write_amplification", "files_per_level", "stall_count",
)  # fmt: skip


@functools.cache
def clean() -> bytes:
    """The log before it is damaged."""
    return Sample().run(40).text.encode()


def totals_and_troubles(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """What an import says of a log, and what it says could not be read or is missing."""
    reading = read(path)
    summary = summarised(reading).summary
    said = {**reading.log.troubles, **reading.problems}
    assert sum(said.values()) == sum(
        e["count"] for e in (*summary["import"]["troubles"], *summary["import"]["problems"])
    )
    return {name: summary[name] for name in TOTALS}, said


@pytest.mark.parametrize("mutation", range(len(MUTATIONS)), ids=[m.__name__ for m in MUTATIONS])
def test_damage_is_survived_and_said(mutation: int, tmp_path: Path) -> None:
    """Totals that differ from those of the whole log come with a count of what is wrong; the only error is InputError."""
    path = tmp_path / "LOG"
    path.write_bytes(clean())
    whole, said = totals_and_troubles(path)
    assert {} == said
    silent = []
    for seed in range(mutation, MUTATED_LOGS, len(MUTATIONS)):
        path.write_bytes(mutated(clean(), seed))
        try:
            totals, said = totals_and_troubles(path)
        except InputError:
            continue
        if totals != whole and not said:
            silent.append((seed, {name: totals[name] for name in TOTALS if totals[name] != whole[name]}))

    assert [] == silent


@pytest.mark.parametrize("seed", range(len(MUTATIONS)), ids=[m.__name__ for m in MUTATIONS])
def test_damaged_logs_are_imported_whole(seed: int, tmp_path: Path) -> None:
    """Tables, configuration and page are written for what is left of a log."""
    path = tmp_path / "LOG"
    path.write_bytes(mutated(clean(), seed))

    assert 0 == import_log([str(path), "--out", str(tmp_path / "out")])
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.parametrize("year", ["2923", "1023", "2024"])
@pytest.mark.parametrize("place", [0, 5, 300, -1])
def test_a_stamp_that_nothing_confirms_is_not_believed(place: int, year: str, tmp_path: Path) -> None:
    """One wrong year among the stamps does not make a log of minutes one of centuries."""
    lines = list(Sample().run(40).lines)
    at = place if place >= 0 else len(lines) - 1
    assert lines[at].startswith("2023")
    lines[at] = year + lines[at][4:]
    path = tmp_path / "LOG"
    path.write_text("\n".join(lines) + "\n")
    reading = read(path)

    assert reading.summary["duration_s"] < 60
    assert 1 == reading.log.troubles["unreadable_stamps"]


def test_a_pause_of_weeks_is_believed(tmp_path: Path) -> None:
    """Two stamps that agree, after a long silence, are no error."""
    first, second = Sample().run(10), Sample()
    second.now_us = first.now_us + 40 * 86_400 * 10**6
    second.run(10)
    path = tmp_path / "LOG"
    path.write_text(first.text + second.text)
    reading = read(path)

    assert {} == dict(reading.log.troubles)
    assert 40 * 86_400 < reading.summary["duration_s"] < 41 * 86_400
    assert 0 == import_log([str(path), "--out", str(tmp_path / "out"), "--no-report"])


@pytest.mark.parametrize("limit", [512, 4165])
def test_cut_off_events_lose_no_bytes(limit: int, tmp_path: Path) -> None:
    """Loggers with short buffers cut the longest events, those of the largest compactions; all totals survive."""
    sample = Sample().run(40)
    lines = []
    for line in sample.lines:
        padded = line.replace('"num_subcompactions"', '"padding": "' + "x" * 4000 + '", "num_subcompactions"')
        lines.append(padded[:limit])
    path = tmp_path / "LOG"
    path.write_text("\n".join(lines) + "\n")
    reading = read(path)

    assert sample.totals == {name: reading.summary[name] for name in sample.totals}
    assert reading.log.troubles["cut_events"] >= sample.totals["compaction_count"]


def test_a_number_that_two_witnesses_tell_is_not_believed_from_the_third(tmp_path: Path) -> None:
    """A wrong size in an event loses against the line and the files, and is counted."""
    sample = Sample().run(10)
    wrong = [
        line.replace('"total_output_size": ', '"total_output_size": 9', 1) if "compaction_finished" in line else line
        for line in sample.lines
    ]
    path = tmp_path / "LOG"
    path.write_text("\n".join(wrong) + "\n")
    reading = read(path)

    assert sample.totals["compaction_write_bytes"] == reading.summary["compaction_write_bytes"]
    assert sample.totals["compaction_count"] == reading.problems["contradictions"]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """Each thing that a log lacks is counted under its own name."""
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
        path = tmp_path / kind
        path.write_text("\n".join(left) + "\n")

        assert read(path).problems[kind] > 0, kind
