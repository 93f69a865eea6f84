"""What happens to finished runs besides being saved, such as drawing their page: entry points of other folders."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

RUN: Final = "lsmlab.finishers"
"""Entry points `(directory: Path) -> Path | None` for one run; they may return the page that they wrote."""
COMPARISON: Final = "lsmlab.comparison_finishers"
"""Entry points `(directory: Path, run_dirs: list[Path]) -> Path | None` for a comparison."""


def wanted(config: Mapping[str, Any], *, json: bool, report: bool | None) -> bool:
    """Whether pages are drawn: --no-report, then the key `report`; when that is null, unless --json is given."""
    if report is not None:
        return report
    choice = config.get("report")
    return bool(choice) if choice is not None else not json


def finish(group: str, *arguments: Path | Sequence[Path]) -> tuple[list[Path], bool]:
    """Call all finishers of a group; returns the pages written and whether all went well.

    A finisher that fails costs no result: the run is saved already, and one line on stderr says what happened.
    """
    pages: list[Path] = []
    well = True
    for point in entry_points(group=group):
        try:
            page = point.load()(*arguments)
        except Exception as error:
            if os.environ.get("LSMLAB_TRACEBACK", "0") not in ("", "0"):
                raise
            reason = " ".join(str(error).split()) or type(error).__name__
            sys.stderr.write(f"lsmlab: the results are saved, but '{point.name}' failed on them: {reason}\n")
            well = False
        else:
            pages += [Path(page)] if isinstance(page, str | Path) else []
    return pages, well
