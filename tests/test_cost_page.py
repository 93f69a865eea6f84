"""The page of a run tells what stalls cost and why: the story, the order of stalls, and the tooltips of their bands."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from explorer_pack import explorer_of
from lsmlab.reports.cost import closed_loop_sentence, length_sentence
from lsmlab.reports.figures.bands import stall_hover
from lsmlab.reports.headline import headline
from lsmlab.reports.page import run_page
from lsmlab.reports.run_data import RunData, load_run
from lsmlab.reports.timeline import Timeline
from lsmlab.reports.words import summary_sentences
from report_fixture import write_run
from running import SMALL, simulate

CAPPED = (*SMALL, "device.write_cap=20MB/s", "workload.duration=10s")
pytestmark = pytest.mark.xdist_group("report")


def saved(directory: Path, *overrides: str) -> RunData:
    """Return the data of a run that was written to `directory`."""
    simulate(*overrides).save(directory)
    return load_run(directory)


def test_the_story_begins_with_the_costliest_stalls(tmp_path: Path) -> None:
    """Cost, bottleneck and costliest episode with its job come before everything else."""
    run = saved(tmp_path, *CAPPED)
    cost, bottleneck, costliest = summary_sentences(run)[:3]
    first = run.summary["episodes"][0]

    assert cost.startswith("Write stalls cost ")
    assert f"Bottleneck: {run.summary['bottleneck']['text']}." == bottleneck
    assert f"(job {first['culprits'][0]['job']})" in costliest
    assert "the job itself waited" in costliest
    assert "bottleneck: write cap" in {fact.note for fact in headline(run)}


def test_stalls_are_listed_by_lost_operations(tmp_path: Path) -> None:
    """The selector of the job chart lists the costliest stall first, with its cost."""
    run = saved(tmp_path, *CAPPED)
    ranked = run.ranked_stalls()
    stalls = explorer_of(run_page(run))["stalls"]

    assert (np.diff(run.stalls["lost_ops"][ranked]) <= 0.0).all()
    assert ranked[0] == stalls["listed"][0]["row"]
    assert " operations lost, " in stalls["listed"][0]["label"]
    assert any("itself waited" in text and "shared with" in text for text in stalls["texts"].values())


def test_a_band_names_cause_and_job(tmp_path: Path) -> None:
    """The tooltip of a second with a stall has its cause, length, cost and the job that it waited for."""
    run = saved(tmp_path, *CAPPED)
    (trace,) = stall_hover(run, Timeline.of(run.times_s))

    assert any(re.fullmatch(r"memtables: stop, .* operations lost<br>waited for flush \(job \d+\)", t) for t in trace["text"])


def test_a_closed_loop_is_told_what_it_hides(tmp_path: Path) -> None:
    """A closed loop with stalls gets the waits of an open loop; a run without stalls gets no such sentence."""
    assert "P99 hides it" in closed_loop_sentence(saved(tmp_path / "capped", *CAPPED))
    assert "" == closed_loop_sentence(saved(tmp_path / "short", *SMALL, "workload.duration=1ms"))


def test_a_short_run_and_unknown_endurance_are_said_in_words(tmp_path: Path) -> None:
    """A run with few compactions out of L0 warns; a device without a rating has an unknown endurance."""
    run = saved(tmp_path, *SMALL, "device=sata", "workload.duration=300ms")

    assert length_sentence(run).startswith("The run is short: ")
    assert any("the endurance of the device is unknown" in sentence for sentence in summary_sentences(run))


def test_a_run_without_an_explanation_tells_its_longest_stall(tmp_path: Path) -> None:
    """Runs of 0.1.0 have no lost operations: the story gives share and cause of stalls, stops come first."""
    run = load_run(write_run(tmp_path / "old"))

    assert any(sentence.startswith("Writes were stalled") for sentence in summary_sentences(run))
    assert str(run.stalls["cause"][run.ranked_stalls()[0]]).endswith("_stop")
