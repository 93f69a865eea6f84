"""CI's part of the scorecard: the documents are those of the present simulator, and no median has become worse."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from lsmlab.validation.scorecard import baseline, document

pytestmark = pytest.mark.xdist_group("validation_documents")  # one process computes the runs that these tests share

ROOT = Path(__file__).parents[1]
REMEDY = "run 'lsmlab validate --write-docs' (make validate) and commit docs/validation.md, validation/*.json"
needs_baseline = pytest.mark.skipif(
    not baseline.FILE.is_file(), reason="no validation/scorecard/baseline.json: nothing was scored yet"
)


@lru_cache(maxsize=1)
def compared() -> list[baseline.Comparison]:
    """The subset's medians, then and now."""
    before: dict[str, Any] = baseline.read_baseline()
    return baseline.compare(before, baseline.subset_medians(before["cases"], before["seeds"]))


@needs_baseline
def test_documents_are_made_from_what_is_here() -> None:
    """Cases, measurements, parameter sets and findings are those from which the documents were written."""
    assert baseline.digest() == baseline.read_baseline()["digest"], REMEDY
    assert baseline.digest() == document.document_digest(), REMEDY


@needs_baseline
def test_no_median_has_become_worse() -> None:
    """The subset's medians are not above those written down by more than their noise."""
    worse = [f"{c.metric}: {c.before:.4g} -> {c.now:.4g} (noise {c.noise:.4g})" for c in compared() if c.worse]

    assert [] == worse


@needs_baseline
def test_documents_show_present_results() -> None:
    """The subset's medians are still those that the documents were written with."""
    changed = [f"{c.metric}: {c.before:.4g} -> {c.now:.4g}" for c in compared() if c.changed]

    assert [] == changed, REMEDY
