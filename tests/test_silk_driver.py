"""What the driver of SILK's released code asked for, from its output or from its constants."""

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


def test_what_was_asked_for_is_what_left_the_queues_and_what_they_grew_by() -> None:
    """2000 in valleys; 9000, 9000 and twice 9100 in peaks, whether served or not. A second with a change does not count."""
    valley, peak = offered_rates(OUTPUT, SLEEPS)

    assert 2000 == pytest.approx(valley)
    assert (9000 + 9000 + 9100) / 3 == pytest.approx(peak)


def test_without_a_word_about_it_the_generators_take_their_time() -> None:
    """Five generators that sleep 2435 and 435 us: as in the recorded run without stalls."""
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


def test_a_block_takes_what_reads_take_beyond_writes_in_quiet_seconds() -> None:
    """400 us per read, of which eight in ten read the device; the peak does not count."""
    assert 500e-6 == pytest.approx(block_read_s(QUIET + PEAK, COUNTERS))


def test_without_enough_reads_nothing_is_said_of_blocks() -> None:
    """A run that begins with a peak, or an output without histograms."""
    assert block_read_s(PEAK + QUIET, COUNTERS) is None
    assert block_read_s(OUTPUT, COUNTERS) is None
