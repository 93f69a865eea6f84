"""Makes the helper modules of tests/ importable and gives each test its own run store."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _own_run_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test its own run store, so that no test reuses a run of another one."""
    monkeypatch.setenv("LSMLAB_RUNS", f"{tmp_path}-runs")
