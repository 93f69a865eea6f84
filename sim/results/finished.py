"""Filter of jobs.parquet that drops unfinished jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def finished(jobs: Mapping[str, Any], *names: str) -> dict[str, NDArray[Any]]:
    """Return columns `names` of jobs.parquet without the rows of jobs that were unfinished at the end of the run."""
    rows = ~np.asarray(jobs["unfinished"], dtype=np.bool_)
    return {name: np.asarray(jobs[name])[rows] for name in names}
