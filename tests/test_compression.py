"""Compression by level: the rule, the sizes of files, and the CPU time of codecs."""

from __future__ import annotations

import pytest
from lsmlab.models.costs import jobs as job_costs
from lsmlab.models.options.fields import Compression, RocksDbOptions
from lsmlab.models.policies.rocksdb.compression import CODECS, compresses, flush_compression, level_compression
from lsmlab.sim.results.results import Result
from running import SMALL, configuration, run, simulate

NONE, LZ4, ZSTD = Compression.NONE, Compression.LZ4, Compression.ZSTD
TIERED = RocksDbOptions(compression_per_level=(NONE, NONE, LZ4), bottommost_compression=ZSTD)
STORE = (
    *SMALL, "workload.value_size=200", "workload.num=400000", "workload.benchmark_write_rate_limit=20MB/s",
    "engine.compression_ratio=0.4",
)  # fmt: skip


@pytest.mark.parametrize(
    ("level", "base", "last", "expected"),
    [
        (0, 1, 4, NONE), (1, 1, 4, NONE), (2, 1, 4, LZ4), (3, 1, 4, LZ4), (4, 1, 4, ZSTD), (5, 1, 4, ZSTD), (4, 4, 6, NONE),
        (5, 4, 6, LZ4),
    ],
)  # fmt: skip
def test_levels_count_from_the_base_level(level: int, base: int, last: int, expected: Compression) -> None:
    """The second type is that of the base level; the last level with files has the bottommost type."""
    assert level_compression(TIERED, level, base, last) is expected


def test_flushes_never_have_the_bottommost_type() -> None:
    """GetCompressionFlush reads the first type of the list, or `compression`."""
    assert flush_compression(TIERED) is NONE
    assert flush_compression(RocksDbOptions(compression=LZ4, bottommost_compression=ZSTD)) is LZ4
    assert not compresses(RocksDbOptions(compression=NONE))
    assert compresses(RocksDbOptions(compression=NONE, bottommost_compression=ZSTD))


def bytes_per_flush(result: Result) -> float:
    """Return the mean size of a flushed file."""
    return float(result.summary["flush_bytes"] / result.summary["flush_count"])


def test_only_compressed_levels_shrink() -> None:
    """With a type for the last level alone, flushed files have their full size and the store ends smaller."""
    plain = simulate(*STORE, "engine.options.compression=none")
    bottom = simulate(*STORE, "engine.options.compression=none", "engine.options.bottommost_compression=zstd")
    whole = simulate(*STORE, "engine.options.compression=zstd")

    assert bytes_per_flush(bottom) == pytest.approx(bytes_per_flush(plain), rel=0.01)
    assert bytes_per_flush(whole) == pytest.approx(0.4 * bytes_per_flush(plain), rel=0.05)
    sizes = [sum(row["bytes"] for row in r.summary["levels"]) for r in (whole, bottom, plain)]
    assert sizes == sorted(sizes)
    assert sizes[1] < 0.8 * sizes[2]


def test_slow_codecs_cost_more_cpu_time() -> None:
    """The CPU time of jobs grows with the codec's cost."""
    stores = {codec: simulate(*STORE, f"engine.options.compression={codec}").summary for codec in ("lz4", "zstd", "zlib")}
    times = [s["cpu"]["background_core_seconds"] for s in stores.values()]
    assert times == sorted(times)


def entry_us(result: Result, output_level: int) -> float:
    """Return the mean CPU microseconds per entry of flushes (level 0) or of compactions to a level."""
    jobs = result.jobs
    chosen = [i for i, level in enumerate(jobs["output_level"]) if level == output_level and jobs["cpu_s"][i] > 0.0]
    return float(1e6 * sum(jobs["cpu_s"][i] for i in chosen) / sum(jobs["entries_in"][i] for i in chosen))


def test_a_share_of_the_time_per_byte_follows_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the codec's own time, files of 0.4 of their raw bytes save 0.6 of the share that follows files.

    With compression of the last level alone, flushed files have their full size and save nothing.
    """
    only_bytes = (
        *STORE, "host.compress_byte=0ns", "host.decompress_byte=0ns",
        "host.flush_record=0.001ns", "host.compaction_record=0.001ns",
    )  # fmt: skip
    for name in ("FLUSH_DROPPED", "COMPACTION_DROPPED"):
        monkeypatch.setattr(job_costs, name, 1.0)
    for name in ("_INPUT_FILE_S", "_BUFFER_BYTE_S"):
        monkeypatch.setattr(job_costs, name, 0.0)
    plain, whole, bottom = (
        run(configuration(*only_bytes, f"engine.options.compression={whole}", f"engine.options.bottommost_compression={bottom}"))
        for whole, bottom in (("none", "none"), ("lz4", "lz4"), ("none", "zstd"))
    )

    assert entry_us(whole, 0) / entry_us(plain, 0) == pytest.approx(1.0 - 0.4 * 0.6, rel=0.01)
    assert entry_us(whole, 1) / entry_us(plain, 1) == pytest.approx(1.0 - 0.6 * 0.6, rel=0.01)
    assert entry_us(bottom, 0) == pytest.approx(entry_us(plain, 0), rel=1e-6)


def test_every_type_has_a_cost() -> None:
    """Each compression type of RocksDB has a cost relative to LZ4, which is 1."""
    assert CODECS.keys() == set(Compression)
    assert (CODECS[LZ4].compress, CODECS[LZ4].decompress) == (1.0, 1.0)
    assert all((c.compress > 0.0) == (c.decompress > 0.0) == name.compresses for name, c in CODECS.items())
