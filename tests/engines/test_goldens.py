"""Golden texts of engines: tests/testdata/engines/<engine>.txt with readable commands for the five policies."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_goldens import EngineSession
from goldens import run_golden

GOLDENS = sorted((Path(__file__).parents[1] / "testdata" / "engines").glob("*.txt"))


@pytest.mark.parametrize("path", GOLDENS, ids=lambda p: p.stem)
def test_golden(path: Path) -> None:
    """The engine's policies give every answer of the golden text."""
    run_golden(path, EngineSession().commands())


def test_goldens_exist() -> None:
    """The directory contains golden texts, so the test above is not empty."""
    assert len(GOLDENS) >= 3
