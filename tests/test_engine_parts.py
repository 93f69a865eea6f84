"""Policies made from resolved options."""

from __future__ import annotations

from typing import Any

import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.options.options import RocksDbOptions, resolve_options
from lsmlab.models.policies.rocksdb.fifo import FifoPicker
from lsmlab.models.policies.rocksdb.scheduler import RocksDbScheduler
from lsmlab.models.policies.rocksdb.tiered import tiered_picker
from lsmlab.models.policies.rocksdb.universal import UniversalPicker
from lsmlab.models.version import Version

V78 = Version(7, 8)


def options_of(**overrides: Any) -> RocksDbOptions:
    """Return the options of a 7.8 store."""
    return resolve_options(V78, "library", overrides).options


def test_default_options_give_default_pickers() -> None:
    """The pickers' defaults are the library's; only universal's periodic_compaction_seconds comes from sanitising."""
    universal = tiered_picker(options_of(compaction_style="universal"), V78)
    assert UniversalPicker(V78, periodic_compaction_seconds=30 * 86_400) == universal
    assert FifoPicker(V78) == tiered_picker(options_of(compaction_style="fifo"), V78)


def test_overrides_reach_the_picker() -> None:
    """Members of compaction_options_universal and options outside it reach the picker under their own names."""
    struct = {"size_ratio": 20, "min_merge_width": 3, "stop_style": "kCompactionStopStyleSimilarSize"}
    options = options_of(
        compaction_style="universal",
        level0_file_num_compaction_trigger=8,
        num_levels=1,
        ttl=0,
        compaction_options_universal=struct,
    )
    expected = UniversalPicker(
        V78,
        size_ratio=20,
        min_merge_width=3,
        similar_size=True,
        level0_file_num_compaction_trigger=8,
        num_levels=1,
    )
    assert expected == tiered_picker(options, V78)


def test_leveled_style_is_refused() -> None:
    """tiered_picker refuses leveled compaction, which has its own factory."""
    with pytest.raises(InputError, match="compaction_style"):
        tiered_picker(options_of(), V78)


def test_rate_limiter_from_options() -> None:
    """Rate 0 makes no limiter; else rate and period apply, and an auto-tuned limiter starts at half of the maximum."""
    assert RocksDbScheduler(options_of(), V78).limiter() is None
    limiter = RocksDbScheduler(
        options_of(
            rate_limiter_bytes_per_sec="20MB/s", rate_limiter_auto_tuned=True, rate_limiter_refill_period_us=50_000
        ),
        V78,
    ).limiter()
    assert limiter is not None
    assert (limiter.rate_bytes_per_s, limiter.refill_period_s, limiter.refill_bytes) == (10_000_000, 0.05, 500_000)
