"""Results do not depend on the Python version: the simulator does not add floats with `sum`.

Since Python 3.12 `sum` compensates rounding errors, so the last digits differ from 3.11 (lsmlab.models.sums).
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from digests import reference_runs
from lsmlab.sim.simulation import run
from running import configuration

ROOT = Path(__file__).parents[1]
FOLDERS = tuple(f"{ROOT / name}/" for name in ("models", "sim"))
RUNS = ("adoc", "ldc", "vlsm_silk", "device_pmem", "load_mixgraph", "load_ycsb", "store_shards", "store_subcompactions")
"""Reference runs that together execute most of the code: tuners, slices, caps, several clients and shards."""


@pytest.mark.parametrize("name", RUNS)
def test_no_floats_are_added_by_sum(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """No call of `sum` in models or sim adds three floats or more; two floats give the same result in every order."""
    plain = builtins.sum
    found: set[str] = set()

    def watched(values: Iterable[Any], /, start: Any = 0) -> Any:
        numbers = list(values)
        place = sys._getframe(1).f_code
        if place.co_filename.startswith(FOLDERS) and plain(isinstance(n, float) for n in numbers) > 2:
            found.add(f"{Path(place.co_filename).relative_to(ROOT)}: {place.co_name}: use float_sum")
        return plain(numbers, start)

    config = configuration(*reference_runs()[name])
    monkeypatch.setattr(builtins, "sum", watched)
    run(config)

    assert set() == found
