"""What the driver of SILK's released code asked for, from its output or from its constants."""

from __future__ import annotations

import pytest
from lsmlab.validation.silk_driver import offered_rates

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
