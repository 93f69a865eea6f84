"""Progress of many runs: number of finished runs and estimated time left."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, Final

_BAR: Final = "{percentage:3.0f}%|{bar}| {desc} [{elapsed}{postfix}]"
_PERIOD_S: Final = 10.0
"""Seconds between two lines if stderr is not a terminal."""

_LEAST_WORK: Final = 0.02
"""Smallest finished share of a run that counts in the estimate of the time left."""
_LEAST_S: Final = 1.0
"""Time for which the speed is measured before the first estimate."""


class RunProgress:
    """Progress of many runs on stderr: a bar on a terminal, else a line every ten seconds; nothing if `quiet`.

    A running run counts with the share of its simulated time, so the estimate is there before the first run ends. The
    speed is measured from the first report on: the start of the worker processes takes longer than many a run.
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
        self._since: tuple[float, float] | None = None
        """Time and work of the first report."""
        self._bar: Any = None
        self._quiet = quiet or total == kept
        if not self._quiet and sys.stderr.isatty():
            from tqdm import tqdm

            size = shutil.get_terminal_size()  # 80 x 24 if the terminal does not report its size
            self._bar = tqdm(
                total=total, initial=kept, bar_format=_BAR, leave=False, mininterval=0.2, ncols=size.columns, nrows=size.lines
            )
        self._show()
        if self._bar is not None:
            self._bar.refresh()  # tqdm shows the number of runs only after its interval

    def share(self, index: int, share: float) -> None:
        """Record that the running task `index` has reached `share` (0 to 1) of its simulated time."""
        self._shares[index] = min(share, 1.0)
        self._report()

    def ended(self, index: int, *, kept: bool = False) -> None:
        """Record that a run ended or failed; one that the store had (`kept`) tells nothing about the time of the others."""
        self._shares.pop(index, None)
        self._done += 1
        if kept:
            self._kept += 1
            self._show()
        else:
            self._report()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()

    def line(self) -> str:
        """Return a line with the finished runs and the time left.

        >>> now = [0.0]
        >>> progress = RunProgress(8, 2, quiet=True, clock=lambda: now[0])
        >>> for now[0], share in (5.0, 0.0), (15.0, 0.5):
        ...     progress.share(0, share)
        >>> progress.line()
        '2/8 runs (2 kept), about 1.8 min left'
        """
        kept = f" ({self._kept} kept)" if self._kept else ""
        left_s = self._left_s()
        left = f", about {_duration(left_s)} left" if left_s is not None else ""
        return f"{self._done}/{self._total} {self._noun}{kept}{left}"

    def _work(self) -> float:
        return self._done + sum(share for share in self._shares.values() if share >= _LEAST_WORK)

    def _report(self) -> None:
        if self._since is None:
            self._since = self._clock(), self._work() - self._kept
        self._show()

    def _left_s(self) -> float | None:
        """Return the estimated time left; None before the speed is known."""
        if self._since is None:
            return None
        since_s, before = self._since
        work, spent_s = self._work() - self._kept, self._clock() - since_s
        if work - before < _LEAST_WORK or spent_s < _LEAST_S:
            return None
        return spent_s / (work - before) * (self._total - self._kept - work)

    def _show(self) -> None:
        now_s = self._clock()
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.n = self._work()
            self._bar.set_description_str(f"{self._done}/{self._total} {self._noun}", refresh=False)
            left_s = self._left_s()
            self._bar.set_postfix_str(f"{_duration(left_s)} left" if left_s is not None else "", refresh=False)
            self._bar.update(0)
            return
        has_estimate = self._left_s() is not None
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
