"""The scorecard in CI: the documents belong to the present simulator, and no median is worse."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from lsmlab.validation.markdown import stated_digest
from lsmlab.validation.scorecard import ci_baseline, document

ROOT = Path(__file__).parents[1]
REMEDY = "run 'lsmlab validate --write-docs' (make validate) and commit docs/validation.md, validation/*.json"
pytestmark = [
    pytest.mark.xdist_group("validation_documents"),  # one process computes the runs that these tests share
    pytest.mark.skipif(not ci_baseline.FILE.is_file(), reason="no validation/scorecard/baseline.json: nothing was scored yet"),
]


@lru_cache(maxsize=1)
def comparisons() -> list[ci_baseline.MedianChange]:
    """Return the medians of a subset of cases, stored and present."""
    before: dict[str, Any] = ci_baseline.read_baseline()
    return ci_baseline.compare(before, ci_baseline.subset_medians(before["cases"], before["seeds"]))


def test_documents_are_up_to_date() -> None:
    """The documents were written from the present cases, measurements, parameter sets and findings."""
    assert ci_baseline.digest() == ci_baseline.read_baseline()["digest"], REMEDY
    assert ci_baseline.digest() == stated_digest(document.FILE), REMEDY


def test_no_median_is_worse() -> None:
    """No median of the subset is above the stored one by more than its noise."""
    worse = [f"{c.metric}: {c.before:.4g} -> {c.now:.4g} (noise {c.noise:.4g})" for c in comparisons() if c.worse]

    assert [] == worse


def test_documents_show_present_results() -> None:
    """The medians of the subset are those of the documents."""
    changed = [f"{c.metric}: {c.before:.4g} -> {c.now:.4g}" for c in comparisons() if c.changed]

    assert [] == changed, REMEDY
