"""Every golden text of an engine: tests/testdata/engines/<engine>.txt, readable questions to its five policies."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_goldens import EngineSession
from goldens import run_golden

GOLDENS = sorted((Path(__file__).parents[1] / "testdata" / "engines").glob("*.txt"))


@pytest.mark.parametrize("path", GOLDENS, ids=lambda p: p.stem)
def test_golden(path: Path) -> None:
    """Every answer in the text is what the engine's policies answer."""
    run_golden(path, EngineSession().commands())


def test_there_are_goldens() -> None:
    """The folder is found: an empty list would test nothing."""
    assert len(GOLDENS) >= 3
