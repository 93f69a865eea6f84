"""Progress bar with simulated time and speed; no simulated event updates it, so results do not depend on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

Progress = Callable[[float, float], None]
"""Callback for the progress of a run. Arguments: simulated time and end of the run, both in seconds."""

_ENDLESS_S: Final = 1e8
"""End time from which a run counts as limited by its operations only; the bar then shows no percentage."""
_WITH_END: Final = "{percentage:3.0f}%|{bar}| {n:,.0f}/{total:,.0f} simulated s [{elapsed}<{remaining}, {rate_fmt}]"
_WITHOUT_END: Final = "{n:,.0f} simulated s [{elapsed}, {rate_fmt}]"


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Progress | None]:
    """Show a progress bar on stderr and yield its callback; yield None if stderr is no terminal or `quiet` is set."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=1.0, unit=" simulated s", bar_format=_WITHOUT_END, leave=False) as bar:

        def update(now_s: float, end_s: float) -> None:
            if 0.0 < end_s < _ENDLESS_S and end_s != bar.total:
                bar.total, bar.bar_format = end_s, _WITH_END
            bar.update(now_s - bar.n)

        yield update


def on_terminal(line: str) -> None:
    """Print a progress line on stderr if stderr is a terminal."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        tqdm.write(line, file=sys.stderr)  # keeps the line above a progress bar


def silent(_line: str) -> None:
    """Print no progress line, because a program reads the output."""
