"""Costs that the runs of a calibration do not show: the defaults, scaled by the speed of the machine's compactions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lsmlab.models.costs.host import Host

CODEC_SOURCE: Final = "assumption: the default, times compaction_byte relative to its default (docs/decisions/0031)"
READ_SOURCE: Final = (
    "assumption: the default, times read_block relative to its default, or without it the CPU time of a compacted entry "
    "relative to epyc_vm (docs/decisions/0050)"
)
READS: Final = (
    "read_op", "read_memtable", "read_memtable_depth", "read_run", "read_index", "index_depth", "read_block", "block_depth",
    "read_call",
)  # fmt: skip
"""Constants of Host for reads, measured by benchmarks/read_costs.py and leveldb_reads.py for the speed of `epyc_vm`
(docs/decisions/0050)."""
_ENTRY_BYTES: Final = 1016.0
"""Bytes of keys and values of the compacted entry by which the machines are compared."""
_MEASURED_ENTRY_S: Final = 1.605e-6
"""CPU time in s of such an entry on `epyc_vm`: `compaction_record` of 239.1 ns and `compaction_byte` of 1.344 ns."""


def read_ratio(host: Host) -> float:
    """Return the CPU time of a compacted entry of a machine relative to the measured machine's."""
    return (host.compaction_record + _ENTRY_BYTES * host.compaction_byte) / _MEASURED_ENTRY_S


def read_costs(host: Host, read_block_s: float | None = None) -> dict[str, float]:
    """Return `READS` of a machine: the defaults, times the machine's speed.

    The speed is that of a search in a block, `read_block_s`, if runs show it; otherwise that of a compacted entry (`read_ratio`).
    """
    usual = Host()
    ratio = read_ratio(host) if read_block_s is None else read_block_s / usual.read_block
    return {name: ratio * getattr(usual, name) for name in READS}


def codec_costs(fitted: Mapping[str, float]) -> dict[str, float]:
    """Return the costs of LZ4, which runs without compression do not show: the defaults, scaled as `compaction_byte`."""
    usual = Host()
    ratio = fitted.get("compaction_byte", usual.compaction_byte) / usual.compaction_byte
    return {"compress_byte": ratio * usual.compress_byte, "decompress_byte": ratio * usual.decompress_byte}
