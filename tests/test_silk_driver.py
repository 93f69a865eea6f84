"""Offered rates and block reads of the driver in SILK's released code, from its output or its constants."""

from __future__ import annotations

import pytest
from lsmlab.validation.logs.silk_driver import block_read_s, offered_rates

SLEEPS = {"LP_SLOW_US": "2435", "LP_FAST_US": "435"}
OUTPUT = """\
LATSEC,1.000,1,0,500,853,5280,13299,500,740,3863,13319
LATSEC,2.000,1,0,900,853,5280,13299,900,740,3863,13319
LATSEC,3.000,1,0,1000,853,5280,13299,1000,740,3863,13319
LATSEC,4.000,1,0,1100,853,5280,13299,1100,740,3863,13319
LATSEC,5.000,0,400,4000,862,8463,15736,4000,733,7617,13532
------> TOTAL THREADS LIMIT total_threads_limit_ 2
LATSEC,6.000,0,9400,0,0,0,0,0,0,0,0
LATSEC,7.000,0,8400,4900,862,8463,15736,5100,733,7617,13532
LATSEC,9.000,0,0,13000,862,8463,15736,13600,733,7617,13532
"""


def test_offered_rate_is_served_plus_queued() -> None:
    """The offered rate is operations served plus the growth of the queues; seconds with a change do not count."""
    valley, peak = offered_rates(OUTPUT, SLEEPS)

    assert 2000 == pytest.approx(valley)
    assert (9000 + 9000 + 9100) / 3 == pytest.approx(peak)


def test_offered_rates_from_the_generators_sleeps() -> None:
    """Without output the rates follow from five generators that sleep 2435 and 435 us, as in the run without stalls."""
    valley, peak = offered_rates("Starting LongPeakTest test\n", SLEEPS)

    assert (1949, 9134) == (pytest.approx(valley, abs=1), pytest.approx(peak, abs=1))


QUIET = "".join(
    f"LATSEC,{second}.000,1,0,1000,853,5280,13299,1000,740,3863,13319\n"
    f"Microseconds per read 1 :\nCount: {1000 * second} Average: 900.0000  StdDev: 1.0\n"
    f"Microseconds per write 1 :\nCount: {1000 * second} Average: 500.0000  StdDev: 1.0\n"
    for second in range(1, 6)
)
PEAK = "LATSEC,6.000,0,9400,4000,0,0,0,4000,0,0,0\nMicroseconds per read 1 :\nCount: 9000 Average: 90000.0000  StdDev: 1.0\n"
COUNTERS = "t,read_bytes,write_bytes,read_ios\n" + "".join(f"{t}.0,0,0,{700 + 800 * t}\n" for t in range(1, 8))


def test_a_block_read_is_the_extra_time_of_reads() -> None:
    """In quiet seconds reads take 400 us longer than writes, and 80 % of them read a block: 500 us per block."""
    assert 500e-6 == pytest.approx(block_read_s(QUIET + PEAK, COUNTERS))


def test_the_busiest_second_bounds_the_time_of_a_block_read() -> None:
    """Eight workers that read 40,000 entries in a second, 80 % of them from the device, need at most 250 us per block.

    The bound counts alone if writes took longer than reads in the quiet seconds, because a stall held them.
    """
    burst = PEAK.replace("9400,4000", "9400,40000")

    assert 250e-6 == pytest.approx(block_read_s(QUIET + burst, COUNTERS))
    assert 250e-6 == pytest.approx(block_read_s(QUIET.replace("Average: 500", "Average: 950") + burst, COUNTERS))


def test_without_quiet_reads_block_time_is_unknown() -> None:
    """A run that begins with a peak, or output without histograms, gives no block time."""
    assert block_read_s(PEAK + QUIET, COUNTERS) is None
    assert block_read_s(OUTPUT, COUNTERS) is None
