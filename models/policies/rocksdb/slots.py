"""Number of background jobs at once, DBImpl::GetBGJobLimits (behaviour/jobs-and-threads.md, Slots)."""

from __future__ import annotations


def slots(
    max_background_jobs: int = 2,
    max_background_flushes: int = -1,
    max_background_compactions: int = -1,
    *,
    speedup: bool,
) -> tuple[int, int]:
    """Return (max_flushes, max_compactions). The two -1 defaults derive both from `max_background_jobs`.

    `speedup` is `ThrottleState.speedup`: without it one compaction runs at a time, at any setting of the options. With
    `speedup=True` the numbers are also the sizes of the thread pools at open.
    """
    if max_background_flushes == -1 and max_background_compactions == -1:
        flushes = max(1, max_background_jobs // 4)
        compactions = max(1, max_background_jobs - flushes)
    else:
        flushes = max(1, max_background_flushes)
        compactions = max(1, max_background_compactions)
    return flushes, compactions if speedup else 1
