"""Speed of a hard disk from outer to inner tracks, and the tracks of runs that follow each other."""

from __future__ import annotations

import numpy as np
import pytest
from lsmlab.validation.calibrate.tracks import Consecutive, Tracks

DISK = Tracks(capacity_bytes=1e12, outer_bytes_per_s=200e6, inner_bytes_per_s=100e6)


def test_speed_follows_the_radius_and_bytes_the_area() -> None:
    """The outermost tracks have place 0, the innermost 1; half of the bytes are outside of the radius sqrt(5 / 8)."""
    speeds = DISK.bytes_per_s(np.array([0.0, 0.5, 1.0 - 1e-9, 1.0, 1.5]))

    assert [200e6, 200e6 * (5.0 / 8.0) ** 0.5, 100e6, 200e6, 200e6 * (5.0 / 8.0) ** 0.5] == pytest.approx(speeds.tolist())
    for place in (0.1, 0.9):
        assert float(DISK.bytes_per_s(np.array(place))) == pytest.approx(DISK.mean_bytes_per_s(place, 1e-6), rel=1e-5)


def test_a_mean_speed_is_bytes_over_time() -> None:
    """The time of a long write is that of its parts, also where it goes from the innermost to the outermost tracks."""
    parts = [DISK.mean_bytes_per_s(0.9 + 0.3 * (part + 0.5) / 1000.0, 1e-9) for part in range(1000)]

    assert pytest.approx(1.0 / np.mean(1.0 / np.array(parts)), rel=1e-3) == DISK.mean_bytes_per_s(0.9, 0.3)
    assert DISK.mean_bytes_per_s(0.0, 1.0) == pytest.approx(DISK.mean_bytes_per_s(0.4, 1.0)) == pytest.approx(150e6, rel=1e-3)
    assert DISK.mean_bytes_per_s(-0.1, 0.1) == pytest.approx(DISK.mean_bytes_per_s(0.9, 0.1))


@pytest.mark.parametrize("first", [0.0, 0.02, 0.4, 0.8, 0.93])
def test_the_speeds_along_a_run_tell_its_start(first: float) -> None:
    """Also for a run that ends at the innermost tracks, and for one that goes on at the outermost ones, with noise of 5 %."""
    written = np.full(100, 1.5e9)
    along = first + np.arange(100) * 1.5e-3
    noise = 1.0 + 0.05 * np.sin(7.0 * np.arange(100))
    seconds = noise * np.array([1.5e9 / DISK.mean_bytes_per_s(place, 1.5e-3) for place in along])

    assert pytest.approx(first, abs=0.011) == DISK.start_of(seconds, written, 0.15)


def test_runs_go_inwards_and_begin_at_the_outer_tracks_again() -> None:
    """Four runs of 200 GB, the first from place 0.6: the second ends at the innermost tracks, so the third is the fastest."""
    firsts = {"2": 0.6, "4": 0.8, "6": 0.0, "8": 0.2}

    found = dict(Consecutive(dict.fromkeys(firsts, 2e11), "2", 0.6).speeds(DISK))

    assert found == pytest.approx({label: DISK.mean_bytes_per_s(first, 0.2) for label, first in firsts.items()})
    assert found["4"] < found["2"] < found["8"] < found["6"]


def test_the_measured_part_of_a_run_comes_first() -> None:
    """Of runs of 100 and 300 GB, of which the first half is measured, the known one is the last."""
    found = dict(Consecutive({"a": 1e11, "b": 3e11}, "b", 0.5, measured=0.5).speeds(DISK))

    assert {"a": DISK.mean_bytes_per_s(0.4, 0.05), "b": DISK.mean_bytes_per_s(0.5, 0.15)} == pytest.approx(found)
