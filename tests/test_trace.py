"""Traces for Perfetto's viewer follow the rules of Chrome's JSON trace format and say what the run's tables say."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lsmlab.reports.cli.main import main
from lsmlab.reports.run_data import RunData, load_run
from lsmlab.reports.trace.counters import immutable_bytes, l0_curve
from lsmlab.reports.trace.document import trace_events
from report_fixture import write_run
from running import SLOW_JOBS

QUICK = [
    "workload.num=20k", "workload.duration=1s", "engine.options.write_buffer_size=256KiB", "device=sata",
    *SLOW_JOBS,
]  # fmt: skip
"""A small store whose jobs take long to start, so that it stalls."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    """Return a simulated run with stalls on two shards."""
    folder = tmp_path_factory.mktemp("traced") / "run"
    assert 0 == main(["run", *QUICK, "workload.shards=2", "--json", "--out", str(folder)])
    return load_run(folder)


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    """Return a run with many stalls whose chains have several jobs that overlap."""
    return load_run(write_run(tmp_path_factory.mktemp("synthetic") / "run", seconds=60, stalls=40, jobs=200))


@pytest.fixture(params=["run", "synthetic"])
def either(request: pytest.FixtureRequest) -> RunData:
    """Return each of the two runs."""
    found: RunData = request.getfixturevalue(request.param)
    return found


def slices_by_track(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return the slices of each track in the order of the trace."""
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(event)
    return tracks


def test_events_are_in_order_and_tracks_have_names(either: RunData) -> None:
    """Times do not decrease; every process and thread has a name; no two processes share a thread number."""
    events = trace_events(either)
    times = [event["ts"] for event in events if event["ph"] != "M"]
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    used = {(e["pid"], e["tid"]) for e in events if e["ph"] in "Xisf"}

    assert sorted(times) == times
    assert used <= named
    assert len({tid for _, tid in named}) == len(named)
    assert {e["pid"] for e in events} == {e["pid"] for e in events if e["name"] == "process_name"}


def test_slices_of_a_track_do_not_cross(either: RunData) -> None:
    """Two slices of a track are apart or one contains the other; Perfetto drops slices that cross."""
    for track in slices_by_track(trace_events(either)).values():
        open_until: list[float] = []
        for piece in track:
            while open_until and open_until[-1] <= piece["ts"] + 1e-4:
                open_until.pop()
            end = piece["ts"] + piece["dur"]
            assert not open_until or end <= open_until[-1] + 1e-4
            open_until.append(end)


def test_arrows_join_the_jobs_of_a_chain(either: RunData) -> None:
    """Both ends of an arrow lie in a slice, the start not after the end; each stall with a chain has an arrow to it."""
    events = trace_events(either)
    tracks = slices_by_track(events)
    ends = {ph: {e["id"]: e for e in events if e["ph"] == ph} for ph in "sf"}

    assert ends["s"].keys() == ends["f"].keys()
    joined = set()
    for number, start in ends["s"].items():
        end = ends["f"][number]
        assert start["ts"] < end["ts"]
        for one in (start, end):
            assert any(p["ts"] <= one["ts"] < p["ts"] + p["dur"] for p in tracks[one["pid"], one["tid"]])
        joined |= {p["args"].get("cause") for p in tracks[end["pid"], end["tid"]]}
    chained = [row for row in range(len(either.stalls["start_s"])) if either.chain(row)]
    arrows = sum(1 for e in ends["f"].values() if e["pid"] == 1)
    assert 0.9 * len(chained) <= arrows <= len(chained)
    assert chained


def test_slices_are_the_jobs_and_stalls_of_the_tables(run: RunData) -> None:
    """There is a slice for each job and stall, with its times and bytes."""
    events = trace_events(run)
    jobs = [e for e in events if e["ph"] == "X" and e["cat"] == "job"]

    assert len(run.jobs["job"]) == len(jobs)
    assert len(run.stalls["cause"]) == sum(1 for e in events if e["ph"] == "X" and e["cat"] == "stall") > 0
    assert run.jobs["write_bytes"].sum() == sum(e["args"]["write_bytes"] for e in jobs)
    assert run.jobs["start_s"].max() == pytest.approx(max(e["ts"] for e in jobs) / 1e6, abs=1e-8)


def test_the_curve_of_l0_ends_like_the_series(run: RunData) -> None:
    """The number of L0 files from version edits equals that of the series at the end of each second."""
    assert run.events is not None
    times, counts = l0_curve(run.events)
    ends = np.minimum(run.times_s, run.duration_s)

    assert run.column("l0_files").tolist() == counts[np.searchsorted(times, ends, side="right") - 1].tolist()


def test_immutable_bytes_fall_when_flushes_end(run: RunData) -> None:
    """Immutable memtables grow by a switch, shrink by a flush of the oldest ones, and are never negative."""
    switches = {"time_s": [1.0, 2.0, 4.0], "shard": [0, 0, 0], "column_family": [""] * 3, "bytes": [10, 20, 40],
                "entries": [1, 1, 1]}  # fmt: skip
    jobs = {"job": [1, 2], "kind": ["flush", "compaction"], "end_s": [3.0, 5.0], "shard": [0, 0], "input_files": [2, 1],
            "unfinished": [False, False]}  # fmt: skip
    flushed = replace(run, jobs={name: np.array(values) for name, values in jobs.items()})

    assert ([1.0, 2.0, 3.0, 4.0], [10.0, 30.0, 0.0, 40.0]) == immutable_bytes(flushed, switches)


def test_the_command_writes_both_forms(run: RunData, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The trace is compressed by default and plain JSON for another name; both are one document; a bad folder is refused."""
    assert 0 == main(["trace", str(run.directory)])
    assert 0 == main(["trace", str(run.directory), "--out", str(tmp_path / "trace.json")])
    packed = json.loads(gzip.decompress((run.directory / "trace.json.gz").read_bytes()))

    assert packed == json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    assert {"displayTimeUnit", "otherData", "traceEvents"} == set(packed)
    assert "ui.perfetto.dev" in capsys.readouterr().out
    assert 2 == main(["trace", str(tmp_path)])
    assert "no finished run here" in capsys.readouterr().err
    assert 2 == main(["trace", str(run.directory), "--out", str(tmp_path / "no" / "trace.json")])
    assert "cannot write the trace" in capsys.readouterr().err
