"""A progress bar with simulated time and speed; it stands outside the event loop, so results do not depend on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

Progress = Callable[[float, float], None]
"""Called by the simulation now and then with the simulated time and its end, both in seconds."""

_ENDLESS_S: Final = 1e8
"""From here on an end time means that the run ends with its operations: there is no share to show."""
_WITH_END: Final = "{percentage:3.0f}%|{bar}| {n:,.0f}/{total:,.0f} simulated s [{elapsed}<{remaining}, {rate_fmt}]"
_WITHOUT_END: Final = "{n:,.0f} simulated s [{elapsed}, {rate_fmt}]"


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Progress | None]:
    """A bar on stderr if that is a terminal; None (no calls at all) in pipes or when `quiet`."""
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
    """A line of progress on stderr, if somebody is watching."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        tqdm.write(line, file=sys.stderr)  # above a bar, if there is one


def silent(_line: str) -> None:
    """No progress: the output is for a program."""
