"""A few public runs of real RocksDB, where the data are at hand; `make validate` shows them all."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsmlab.models.errors import InputError
from lsmlab.validation.public_runs import DATA, main, rate_limited, simulate, throttled

FOLDER = Path(__file__).parents[1] / DATA
HERE = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the public runs are not at {FOLDER}")


@HERE
@pytest.mark.parametrize("name", ["NVMeSSD 100 B 5 MB/s 1200 s", "SATAHDD 100 B 5 MB/s 1200 s", "SATASSD 1000 B 15 MB/s 600 s"])
def test_rate_limited_runs_within_a_few_percent(name: str) -> None:
    """Write amplification within 4 %, flushes within 1 %, compactions within 6 % of the measured run."""
    public = {p.name: p for p in rate_limited(FOLDER)}[name]
    summary = simulate(public)

    assert summary["write_amplification"] == pytest.approx(public.measured["write_amplification"], rel=0.04)
    assert summary["flush_count"] == pytest.approx(public.measured["flush_count"], rel=0.01)
    assert summary["compaction_count"] == pytest.approx(public.measured["compaction_count"], rel=0.06)


@HERE
@pytest.mark.parametrize("jobs", [2, 4, 12])
def test_throttled_runs_within_the_worst_case_bounds(jobs: int) -> None:
    """At 400 MiB/s: throughput within 10 %, W-Amp within 8 %, stall share within 8 points of the measured run."""
    public = {p.name: p for p in throttled(FOLDER)}[f"400 MiB/s {jobs} jobs 20 M"]
    summary = simulate(public)

    assert summary["ops_per_s"] == pytest.approx(public.measured["ops_per_s"], rel=0.10)
    assert summary["write_amplification"] == pytest.approx(public.measured["write_amplification"], rel=0.08)
    assert summary["stall_fraction"] == pytest.approx(public.measured["stall_fraction"], abs=0.08)


def test_missing_data_end_in_one_line(tmp_path: Path) -> None:
    """A folder without the data is named, with the remedy."""
    with pytest.raises(InputError, match="--data"):
        main(["throttled", "--data", str(tmp_path)])
