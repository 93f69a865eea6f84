"""What a store counted itself: block cache, filters, reads and latencies in the statistics of its LOG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.validation.importer.reading import Reading
from lsmlab.validation.logs.bench import StoreStatistics

_CACHE: Final = "rocksdb.block.cache."
_BLOCKS: Final = ("data", "index", "filter")
_FILTER: Final = "rocksdb.bloom.filter."
_LATENCIES: Final = {
    "write": "rocksdb.db.write.micros", "get": "rocksdb.db.get.micros", "multiget": "rocksdb.db.multiget.micros",
    "seek": "rocksdb.db.seek.micros",
}  # fmt: skip
"""Histograms of the calls of clients, by the name of the call."""
_LEAST_S: Final = 0.01
"""Shortest time of which a rate is known."""
_LATER: Final = 1.02
_LATER_S: Final = 2.0
"""Uptime beyond this multiple of the time since the LOG's version line, and these seconds, is that of an earlier open."""
_PERCENTILES: Final = {"P50": "p50", "P95": "p95", "P99": "p99", "P100": "max"}


def store_statistics(reading: Reading) -> dict[str, Any] | None:
    """Return the statistics of a LOG for summary.json; None for a LOG without any.

    Counts are summed over the opens. Percentiles cannot be summed, so they are those of the open with the most calls.
    """
    found = reading.log.statistics
    if not found:
        return None
    covered_s = _covered_s(reading, found)
    return {
        "opens": len(found),
        "covered_s": covered_s,
        "block_cache": _block_cache(reading),
        "filter": _filter(reading),
        "latencies": [
            {"call": call, **latency} for call, name in _LATENCIES.items() if (latency := _latency(found, name, covered_s))
        ],
    }


def read_rate_per_s(reading: Reading) -> float | None:
    """Return the keys that clients read per second, over the time of the statistics; None without reads in them."""
    reads, covered_s = reading.log.ticker_sum("rocksdb.number.keys.read"), _covered_s(reading, reading.log.statistics)
    return reads / covered_s if reads and covered_s else None


def busy_readers(reading: Reading) -> float | None:
    """Return the mean number of clients in a get, MultiGet or seek, by Little's law; None without such calls."""
    found, covered_s = reading.log.statistics, _covered_s(reading, reading.log.statistics)
    calls = [_LATENCIES[call] for call in ("get", "multiget", "seek")]
    spent_s = sum(one.histograms.get(name, {}).get("SUM", 0.0) for one in found for name in calls) / 1e6
    return spent_s / covered_s if spent_s and covered_s else None


def latency_s(reading: Reading, call: str) -> dict[str, float] | None:
    """Return percentiles, maximum and mean of one kind of call in seconds; None if the LOG does not have them.

    Releases that print no counts give no mean, the oldest ones no maximum either.
    """
    largest = _largest(reading.log.statistics, _LATENCIES[call])
    if largest is None:
        return None
    found = {ours: largest[theirs] / 1e6 for theirs, ours in _PERCENTILES.items() if theirs in largest}
    mean_s = _mean_s(largest)
    return found if mean_s is None else found | {"mean": mean_s}


def _covered_s(reading: Reading, found: Sequence[StoreStatistics]) -> float | None:
    """Return the time from each open to its last statistics, summed; None if the LOG does not tell it.

    Counters begin at the open, which may be before the LOG: then they belong to the uptime of the last dump.
    """
    total_s = 0.0
    for one in found:
        opened = reading.log.openings[one.opening]
        shown_s = (one.time_us - opened.ready_us) / 1e6 if one.time_us is not None and opened.version else None
        uptime_s = next((d.uptime_s for d in reversed(reading.log.dumps) if d.opening == one.opening and d.uptime_s), None)
        if shown_s is None or (uptime_s is not None and uptime_s > _LATER * shown_s + _LATER_S):
            shown_s = uptime_s
        if shown_s is None:
            return None
        total_s += shown_s
    return total_s if total_s > _LEAST_S else None


def _block_cache(reading: Reading) -> dict[str, Any] | None:
    parts = {"all": "", **{name: f"{name}." for name in _BLOCKS}}
    rows: dict[str, Any] = {}
    for name, prefix in parts.items():
        hits, misses = (reading.log.ticker_sum(f"{_CACHE}{prefix}{kind}") for kind in ("hit", "miss"))
        if hits + misses:
            rows[name] = {"hits": hits, "misses": misses, "hit_share": hits / (hits + misses)}
    return rows or None


def _filter(reading: Reading) -> dict[str, float | None] | None:
    """Return how often filters spared a read, and the share of keys that they let pass although the file lacks them."""
    useful, positive, true = (
        reading.log.ticker_sum(f"{_FILTER}{kind}") for kind in ("useful", "full.positive", "full.true.positive")
    )
    if not useful + positive:
        return None
    false = max(0.0, positive - true)
    known = positive > 0.0  # block-based filters of old releases count no positives
    return {
        "useful": useful,
        "false_positives": false if known else None,
        "false_positive_share": false / (useful + false) if known else None,
    }


def _latency(found: Sequence[StoreStatistics], name: str, covered_s: float | None) -> dict[str, float | None] | None:
    largest = _largest(found, name)
    if largest is None:
        return None
    calls = sum(one.histograms.get(name, {}).get("COUNT", 0.0) for one in found) or None
    row: dict[str, float | None] = {"calls": calls, "per_s": calls / covered_s if calls and covered_s else None}
    row |= {f"{ours}_s": largest[theirs] / 1e6 if theirs in largest else None for theirs, ours in _PERCENTILES.items()}
    return row | {"mean_s": _mean_s(largest)}


def _mean_s(histogram: Mapping[str, float]) -> float | None:
    """Return the mean of a histogram; None without counts.

    >>> _mean_s({"P50": 3.0, "COUNT": 4.0, "SUM": 2e6}), _mean_s({"P50": 3.0})
    (0.5, None)
    """
    return histogram["SUM"] / histogram["COUNT"] / 1e6 if histogram.get("COUNT") else None


def _called(histogram: Mapping[str, float]) -> bool:
    """Whether a histogram has any call: by its count, or by its percentiles if its release prints no counts."""
    return histogram["COUNT"] > 0.0 if "COUNT" in histogram else any(histogram.values())


def _largest(found: Sequence[StoreStatistics], name: str) -> Mapping[str, float] | None:
    """Return the histogram of the open with the most calls, or of the last one without counts; None if none has any call."""
    histograms = [one.histograms[name] for one in reversed(found) if _called(one.histograms.get(name, {}))]
    return max(histograms, key=lambda one: one.get("COUNT", 0.0), default=None)
