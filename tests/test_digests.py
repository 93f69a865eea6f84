"""Reference runs give the same summary, jobs and series as before, to the last bit.

`make digests` (LSMLAB_REWRITE=1) writes the digests of the present code; say in the commit which changed and why.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from digests import FOLDER, RUNS_FILE, differences, digests_of, reference_runs
from goldens import REWRITE

RUNS = reference_runs()


@pytest.mark.parametrize("name", RUNS)
def test_results_are_those_on_file(name: str, tmp_path: Path) -> None:
    """No key of summary.json and no column of jobs.parquet or series.parquet has changed."""
    file = FOLDER / f"{name}.json"
    actual = digests_of(RUNS[name], tmp_path)
    if os.environ.get(REWRITE):
        file.write_text(json.dumps(actual, indent=1) + "\n", encoding="utf-8")

    assert file.exists(), f"{file.name}: not written yet; run make digests"
    assert [] == differences(json.loads(file.read_text(encoding="utf-8")), actual)


def test_every_digest_belongs_to_a_run() -> None:
    """Every digest file belongs to a reference run, and every run has one."""
    assert sorted(RUNS) == sorted(p.stem for p in FOLDER.glob("*.json")), f"compare with {RUNS_FILE}"
