"""Makes the helper modules of tests/ importable and gives the tests run stores and a cache of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("draining")  # its assertions then show their values


@pytest.fixture(autouse=True)
def _own_run_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test its own run store, so that no test reuses a run of another one."""
    monkeypatch.setenv("LSMLAB_RUNS", f"{tmp_path}-runs")


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the tests a cache of their own, which is empty at the start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LSMLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
