"""A progress bar with simulated time and speed; it stands outside the event loop, so results do not depend on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[float, float], None]
"""Called by the simulation now and then with the simulated time and its end, both in seconds."""


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Progress | None]:
    """A bar on stderr if that is a terminal; None (no calls at all) in pipes or when `quiet`."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm

    form = "{desc}{percentage:3.0f}%|{bar}| {n:,.0f}/{total:,.0f} simulated s [{elapsed}<{remaining}, {rate_fmt}]"
    with tqdm(total=1.0, unit=" simulated s", bar_format=form, leave=False) as bar:

        def update(now_s: float, end_s: float) -> None:
            if end_s != bar.total and 0 < end_s < float("inf"):
                bar.total = end_s
            bar.update(now_s - bar.n)

        yield update
