"""Results, tickers and histograms in db_bench's output. A LOG of a store with statistics has tickers too."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

NUMBER: Final = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
"""Regular expression of a number as RocksDB prints it."""
_LARGEST: Final = 1e18
"""Largest number of a store: a byte per nanosecond for thirty years. A counter of 64 bits that went below 0 has more."""
_BENCH: Final = re.compile(
    rf"^\s*(\w+)\s+:\s+{NUMBER} micros/op (?:({NUMBER}) ops/sec)?;?(?:\s+({NUMBER}) seconds (\d+) operations;)?"
)
_SETUP: Final = re.compile(r"^\s*(RocksDB|Keys|Values|Entries): +(?:version )?(\d{1,15}(?:\.\d{1,9}){0,3})(?!\d)")
_TICKER: Final = re.compile(rf"^\s*(rocksdb\.[\w.]+) COUNT : ({NUMBER})\s*$")
_NEEDED: Final = frozenset(("COUNT", "SUM"))
"""Numbers that a histogram has."""
_HISTOGRAM: Final = re.compile(r"^\s*(rocksdb\.[\w.]+) P50 : (.*)")
_OLD_HISTOGRAM: Final = re.compile(
    rf"^\s*(rocksdb\.[\w.]+) statistics Percentiles :=> 50 : ({NUMBER}) 95 : ({NUMBER}) 99 : ({NUMBER})(?: 100 : ({NUMBER}))?\s*$"
)
"""Histogram of 5.x and older releases, without counts; that of the oldest ones has no maximum (StatisticsImpl::ToString)."""
_OLD_PARTS: Final = ("P50", "P95", "P99", "P100")
_PERCENTILES: Final = re.compile(
    rf"Percentiles: P50: ({NUMBER}) P75: \S+ (?:P90: \S+ )?P99: ({NUMBER}) P99\.9: ({NUMBER}) P99\.99: ({NUMBER})(?!\S)"
)
_LONGEST: Final = re.compile(rf"Max: ({NUMBER})(?!\S)")


class ImpossibleNumber(ValueError):  # noqa: N818  (a state of the text, which its readers handle)
    """A number that no store can have."""


def number_of(text: str) -> float:
    """Return the number of a text of RocksDB. Raises ImpossibleNumber for one above every counter, ValueError for no number."""
    value = float(text)
    if not abs(value) <= _LARGEST:
        raise ImpossibleNumber(text)
    return value


@dataclass
class Benchmark:
    """A result line of db_bench."""

    name: str
    ops_per_s: float | None
    seconds: float | None
    operations: int | None


@dataclass
class StoreStatistics:
    """Tickers and histograms of a store since it was opened."""

    opening: int
    time_us: int | None = None
    """Time of the last dump; None without time stamps."""
    tickers: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, dict[str, float]] = field(default_factory=dict)
    """By name: P50, P95, P99, P100, COUNT and SUM, of which old releases print no COUNT and SUM."""


class BenchReader:
    """Line-by-line reader of db_bench's results, settings, tickers and histograms."""

    def __init__(self) -> None:
        self.benchmarks: list[Benchmark] = []
        self.setup: dict[str, str] = {}
        """Head of db_bench's output: RocksDB (version), Keys and Values (bytes each), Entries."""
        self.statistics: list[StoreStatistics] = []
        """Tickers and histograms by open of the store, in order; only of opens that have them."""

    def take(self, text: str, time_us: int | None = None, opening: int = 0) -> bool:
        """Read one line of an open at a time; return True if it is a result, setting, ticker or histogram.

        A line with a number that no store can have is left out.
        """
        try:
            return self._take(text, time_us, opening)
        except ValueError:
            return False

    def _take(self, text: str, time_us: int | None, opening: int) -> bool:
        if "micros/op" in text and (found := _BENCH.search(text)):
            rate, seconds, operations = (number_of(number) if number else None for number in found.groups()[1:])
            self.benchmarks.append(Benchmark(found[1], rate, seconds, int(operations) if operations is not None else None))
            return True
        if found := _SETUP.match(text):
            self.setup[found[1]] = found[2]
            return True
        if "rocksdb." in text:
            if found := _TICKER.search(text):
                self._of(opening, time_us).tickers[found[1]] = number_of(found[2])
                return True
            if found := _HISTOGRAM.search(text):
                pairs = re.findall(rf"(P\d+|COUNT|SUM) : ({NUMBER})", f"P50 : {found[2]}")
                values = {name: number_of(value) for name, value in pairs}
                if values.keys() >= _NEEDED:  # a damaged line may have lost them
                    self._of(opening, time_us).histograms[found[1]] = values
                return True
            if found := _OLD_HISTOGRAM.search(text):
                values = {name: number_of(value) for name, value in zip(_OLD_PARTS, found.groups()[1:], strict=True) if value}
                self._of(opening, time_us).histograms[found[1]] = values
                return True
        return False

    def _of(self, opening: int, time_us: int | None) -> StoreStatistics:
        if not self.statistics or self.statistics[-1].opening != opening:
            self.statistics.append(StoreStatistics(opening))
        self.statistics[-1].time_us = time_us
        return self.statistics[-1]


def percentiles(text: str) -> dict[str, float]:
    """Return P50, P99, P99.9, P99.99 and maximum in seconds of the first latency histogram in a text; empty without one."""
    found, longest = _PERCENTILES.search(text), _LONGEST.search(text)
    if found is None or longest is None:
        return {}
    keys = ("p50", "p99", "p999", "p9999", "max")
    return {key: float(value) / 1e6 for key, value in zip(keys, (*found.groups(), longest[1]), strict=True)}
