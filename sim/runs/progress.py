"""Progress of many runs: number of finished runs and estimated time left."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, Final

_BAR: Final = "{percentage:3.0f}%|{bar}| {desc} [{elapsed}, {remaining} left]"
_PERIOD_S: Final = 10.0
"""Seconds between two lines if stderr is not a terminal."""

_LEAST_WORK: Final = 0.02
"""Smallest finished share of a run that counts in the estimate of the time left; before, start-up dominates."""


class RunProgress:
    """Progress of many runs on stderr: a bar on a terminal, else a line every ten seconds; nothing if `quiet`.

    A running run counts with the share of its simulated time, so the estimate is there before the first run ends.
    """

    def __init__(
        self, total: int, kept: int = 0, *, quiet: bool, noun: str = "runs", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._noun = noun
        self._total, self._done, self._kept, self._clock = total, kept, kept, clock
        self._shares: dict[int, float] = {}
        self._began_s = clock()
        self._next_s = self._began_s
        self._estimated = False
        self._bar: Any = None
        self._quiet = quiet or total == kept
        if not self._quiet and sys.stderr.isatty():
            from tqdm import tqdm

            size = shutil.get_terminal_size()  # 80 x 24 if the terminal does not report its size
            self._bar = tqdm(
                total=total, initial=kept, bar_format=_BAR, leave=False, mininterval=0.2, ncols=size.columns, nrows=size.lines
            )
        self._show()

    def share(self, index: int, share: float) -> None:
        """Record that the running task `index` has reached `share` (0 to 1) of its simulated time."""
        self._shares[index] = min(share, 1.0)
        self._show()

    def ended(self, index: int) -> None:
        """Record that a run ended or failed."""
        self._shares.pop(index, None)
        self._done += 1
        self._show()

    def kept(self) -> None:
        """Record a run that the store has; it tells nothing about the time that the others take."""
        self._kept += 1
        self._done += 1
        self._show()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()

    def line(self) -> str:
        """Return a line with the finished runs and the time left.

        >>> times = iter([0.0, 0.0, 10.0, 10.0, 10.0])
        >>> progress = RunProgress(8, 2, quiet=True, clock=lambda: next(times))
        >>> progress.share(0, 0.5)
        >>> progress.line()
        '2/8 runs (2 kept), about 1.8 min left'
        """
        work = self._work() - self._kept
        kept = f" ({self._kept} kept)" if self._kept else ""
        if work < _LEAST_WORK:
            return f"{self._done}/{self._total} {self._noun}{kept}"
        left_s = (self._clock() - self._began_s) / work * (self._total - self._kept - work)
        return f"{self._done}/{self._total} {self._noun}{kept}, about {_duration(left_s)} left"

    def _work(self) -> float:
        return self._done + sum(share for share in self._shares.values() if share >= _LEAST_WORK)

    def _show(self) -> None:
        now_s = self._clock()
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.n = self._work()
            self._bar.set_description_str(f"{self._done}/{self._total} {self._noun}", refresh=False)
            self._bar.update(0)
            return
        has_estimate = self._work() - self._kept >= _LEAST_WORK
        first_estimate = has_estimate and not self._estimated
        if self._done < self._total and (now_s >= self._next_s or first_estimate):
            self._next_s, self._estimated = now_s + _PERIOD_S, has_estimate
            sys.stderr.write(f"lsmlab: {self.line()}\n")
            sys.stderr.flush()


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.1f} min"
        if seconds < 6000
        else f"{seconds / 3600:.1f} h"
    )
