"""Speed of a hard disk along its tracks, and the tracks of runs that follow each other."""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.validation.calibrate.tracks import Consecutive, Tracks

DISK = Tracks(capacity_bytes=1e12, outer_bytes_per_s=200e6, inner_bytes_per_s=100e6)


def test_a_place_and_its_speed_belong_together() -> None:
    """The outermost tracks have place 0, the innermost 1; half of the bytes are outside of the radius sqrt(5 / 8)."""
    assert 0.0 == DISK.place(200e6) == DISK.place(300e6)
    assert 1.0 == DISK.place(100e6) == DISK.place(50e6)
    assert pytest.approx(0.5) == DISK.place(200e6 * (5.0 / 8.0) ** 0.5)
    for speed in (110e6, 150e6, 190e6):
        assert pytest.approx(speed, rel=1e-3) == DISK.mean_bytes_per_s(DISK.place(speed), 1e-3)


def test_a_mean_speed_is_bytes_over_time() -> None:
    """The time of a long write is that of its parts, also where it goes from the innermost to the outermost tracks."""
    parts = [DISK.mean_bytes_per_s(0.9 + 0.3 * (part + 0.5) / 1000.0, 1e-9) for part in range(1000)]

    assert pytest.approx(1.0 / np.mean(1.0 / np.array(parts)), rel=1e-3) == DISK.mean_bytes_per_s(0.9, 0.3)
    assert DISK.mean_bytes_per_s(0.0, 1.0) == pytest.approx(DISK.mean_bytes_per_s(0.4, 1.0)) == pytest.approx(150e6, rel=1e-3)
    assert DISK.mean_bytes_per_s(-0.1, 0.1) == pytest.approx(DISK.mean_bytes_per_s(0.9, 0.1))


def test_runs_go_inwards_and_begin_at_the_outer_tracks_again() -> None:
    """Four runs of 200 GB: the second ends at the innermost tracks, so the third is the fastest."""
    known = DISK.mean_bytes_per_s(0.6, 0.2)
    runs = Consecutive({"2": 2e11, "4": 2e11, "6": 2e11, "8": 2e11}, "2", known)

    found = dict(runs.speeds(DISK))

    assert pytest.approx(known, rel=5e-3) == found["2"]
    assert pytest.approx(DISK.mean_bytes_per_s(0.8, 0.2), rel=1e-2) == found["4"]
    assert pytest.approx(DISK.mean_bytes_per_s(0.0, 0.2), rel=1e-2) == found["6"]
    assert found["4"] < found["2"] < found["8"] < found["6"]


def test_the_measured_part_of_a_run_comes_first() -> None:
    """Of runs of 100 and 300 GB, of which the first half is measured, the known one is the last."""
    known = DISK.mean_bytes_per_s(0.5, 0.15)

    found = dict(Consecutive({"a": 1e11, "b": 3e11}, "b", known, measured=0.5).speeds(DISK))

    assert {"a": DISK.mean_bytes_per_s(0.4, 0.05), "b": known} == pytest.approx(found, rel=3e-3)
