"""Phases of a drive with an SLC cache in the fsyncs of a LOG (docs/decisions/0045)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from lsmlab.validation.importer.device import fsync_bandwidth
from lsmlab.validation.importer.estimates import Estimate
from lsmlab.validation.logs.timings.cache_phases import first_phase
from lsmlab.validation.logs.timings.fsync_periods import TimedLog
from lsmlab.validation.logs.timings.timed_jobs import TimedJob

FAST, SLOW = 150e6, 40e6


def compaction(rates: list[tuple[float, float]], file_bytes: float = 20e6) -> TimedLog:
    """Return one compaction whose files are written at (bytes per second, seconds) in turn."""
    now_s, written, files = 0.0, 0.0, []
    edges = np.cumsum([0.0, *(s for _, s in rates)])
    amounts = np.cumsum([0.0, *(r * s for r, s in rates)])
    while written + file_bytes <= amounts[-1]:
        written += file_bytes
        now_s = float(np.interp(written, amounts, edges))
        files.append((now_s, file_bytes))
    job = TimedJob(
        kind="compaction", start_s=0.0, end_s=now_s, cpu_s=0.0, records=1.0, parts=1, files=files,
        output_bytes=len(files) * file_bytes,
    )  # fmt: skip
    return TimedLog([job], False)


def test_a_fast_beginning_is_found() -> None:
    """8 GB at 1.2 GB/s and then 0.6 GB/s: both rates relative to the mean, and the bytes, within 5 %."""
    found = first_phase(compaction([(1.2e9, 20.0 / 3.0), (0.6e9, 50.0)], file_bytes=64e6), lambda _: 0.0)

    mean = (8e9 + 30e9) / (20.0 / 3.0 + 50.0)
    assert found is not None
    assert (found.fast * mean, found.slow * mean, found.fast_bytes) == pytest.approx((1.2e9, 0.6e9, 8e9), rel=0.05)


@pytest.mark.parametrize(
    "rates",
    [
        [(1.0e9, 10.0), (0.85e9, 40.0)],  # less than a quarter faster
        [(0.6e9, 10.0), (1.2e9, 40.0)],  # a slow beginning
        [(1.2e9, 2.0), (0.6e9, 2.0)] * 10,  # alternating phases
        [(1.2e9, 20.0), (0.6e9, 30.0), (1.2e9, 20.0)],  # fast again
    ],
)  # fmt: skip
def test_other_drives_have_no_fast_beginning(rates: list[tuple[float, float]]) -> None:
    """Small differences, slow beginnings, alternating phases and a drive that is fast again are no fast beginning."""
    assert first_phase(compaction(rates, file_bytes=64e6), lambda _: 0.0) is None


def test_runs_with_subcompactions_tell_no_fast_beginning() -> None:
    """Their fsyncs have no known start, so the rate of the others says nothing about the drive."""
    log = compaction([(1.2e9, 20.0 / 3.0), (0.6e9, 50.0)], file_bytes=64e6)
    parallel = TimedJob(kind="compaction", start_s=60.0, end_s=61.0, parts=2, files=[(61.0, 64e6)], output_bytes=64e6)
    assert first_phase(TimedLog([*log.jobs, parallel], False), lambda _: 0.0) is None


def imported(rates: list[tuple[float, float]], file_bytes: float, commit_s: float = 1e-3) -> dict[str, float]:
    """Return the estimates of an import whose compaction wrote at these (bytes per second, seconds), without "device."."""
    log = compaction(rates, file_bytes)
    flushes = [
        TimedJob(kind="flush", start_s=at_s, end_s=at_s + 0.02, files=[(at_s + 0.01, 1e6)])
        for at_s in np.linspace(200.0, 400.0, 20).tolist()
    ]
    seen = cast("Any", SimpleNamespace(jobs=TimedLog([*log.jobs, *flushes], False), buffered_writes=True, read_copy_s=0.0))
    commit = Estimate("device.fsync_latency", commit_s, None, "s", "estimate", "")
    found = fsync_bandwidth(seen, {"device.fsync_latency": commit, "host.flush_record": None, "host.flush_byte": None})
    return {estimate.name.removeprefix("device."): estimate.value for estimate in found.estimates}


def test_an_import_of_alternating_phases_gives_their_mean() -> None:
    """A drive that is fast and slow in turn has the mean rate of its fsyncs, and no cache."""
    values = imported([(FAST, 4.0), (SLOW, 12.0)] * 8, 20e6)
    assert pytest.approx((FAST * 4.0 + SLOW * 12.0) / 16.0, rel=0.1) == values["write_bandwidth"]
    assert "slc_cache" not in values


def test_an_import_finds_a_fast_beginning_except_on_a_hard_disk() -> None:
    """8 GB at 1.2 GB/s, then 0.6 GB/s: a cache that only long pauses empty. With commits of 25 ms it is a hard disk."""
    rates = [(1.2e9, 20.0 / 3.0), (0.6e9, 50.0)]
    values = imported(rates, 64e6)
    assert (values["slc_write_bandwidth"], values["write_bandwidth"]) == pytest.approx((1.2e9, 0.6e9), rel=0.1)
    assert values["slc_cache"] == pytest.approx(8e9, rel=0.1)
    assert values["slc_idle"] > 1.0

    assert list(imported(rates, 64e6, commit_s=0.025)) == ["write_bandwidth"]
