"""Makes the helper modules beside the tests importable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _own_run_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a run store of its own: what one simulates, no other finds."""
    monkeypatch.setenv("LSMLAB_RUNS", f"{tmp_path}-runs")
