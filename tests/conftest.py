"""Makes the helper modules of tests/ importable, groups the tests, and gives them run stores and a cache of their own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy reads it when it is imported; waiting threads of two workers would
# take the processors from each other: calibration takes half as long with one thread

# other work may slow down the machine
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")
sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("draining")  # its assertions then show their values

SPREAD = ("test_conformance.py", "test_examples.py", "test_foreign_configurations.py", "test_log_damage.py")
"""Long files whose tests share no results: pytest-xdist gives their tests singly to the process that is free."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process run all tests of a file, so that it sets up their fixtures and their cached runs only once.

    pytest-xdist begins with the groups of most tests, so the single tests come last and fill both processes to the end.
    """
    for item in items:
        if item.path.name not in SPREAD and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(f"{item.path.parent.name}/{item.path.stem}"))


@pytest.fixture(autouse=True)
def _own_run_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test its own run store, so that no test reuses a run of another one."""
    monkeypatch.setenv("LSMLAB_RUNS", f"{tmp_path}-runs")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Chromium once for the tests of a file."""
    playwright = pytest.importorskip("playwright.sync_api", reason="make test-browser installs Playwright")
    found = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs Chromium on the PATH")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()
