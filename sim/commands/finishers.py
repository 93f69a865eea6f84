"""Finishers: functions that other packages register as entry points and that get the directory of each saved run.

The reports package registers a finisher that draws the page of a run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

RUN: Final = "lsmlab.finishers"
"""Group of the entry points `(directory: Path) -> Path | None` for one run; the result is the page written, if any."""
COMPARISON: Final = "lsmlab.comparison_finishers"
"""Group of the entry points `(directory: Path, run_dirs: list[Path]) -> Path | None` for a comparison."""


def pages_wanted(config: Mapping[str, Any], *, json: bool, report: bool | None) -> bool:
    """Return whether to draw pages: --no-report decides first, then the key `report`; if it is null, `not json`."""
    if report is not None:
        return report
    choice = config.get("report")
    return bool(choice) if choice is not None else not json


def finish(group: str, *arguments: Path | Sequence[Path]) -> tuple[list[Path], bool]:
    """Call all finishers of a group; return the pages written, and whether no finisher failed.

    The run is saved before its finishers start, so a finisher that fails loses no result. A line on stderr gives the
    error; LSMLAB_TRACEBACK=1 raises it instead.
    """
    pages: list[Path] = []
    succeeded = True
    for point in entry_points(group=group):
        try:
            page = point.load()(*arguments)
        except Exception as error:
            if os.environ.get("LSMLAB_TRACEBACK", "0") not in ("", "0"):
                raise
            reason = " ".join(str(error).split()) or type(error).__name__
            sys.stderr.write(f"lsmlab: the results are saved, but '{point.name}' failed on them: {reason}\n")
            succeeded = False
        else:
            pages += [Path(page)] if isinstance(page, str | Path) else []
    return pages, succeeded
