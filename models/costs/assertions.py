"""CPU time of assertions, which Debian's RocksDB contains and a release build does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lsmlab.models.costs.host import Host

WARNING: Final = "Assertions are enabled"
"""Warning in the output of a db_bench with assertions."""
ASSERTED: Final[Mapping[str, float]] = {
    "write_op": 1.8, "memtable_depth": 1.8, "wal_op": 1.4, "read_memtable": 3.0, "scan_entry": 1.4,
    "flush_record": 1.25, "compaction_record": 1.45, "compaction_compare": 1.45,
}  # fmt: skip
"""CPU time of a constant of `Host`, or of a cost of reads, in a build with assertions, relative to a release build; 1 for
those not listed.

Most of it is in the skip list of the memtable: InlineSkipList compares the key with its neighbours once more in assertions.
Source: benchmarks/assertions.py, RocksDB 7.8.3 of Debian and of Maven Central (docs/decisions/0048).
"""


def asserted(name: str, release_s: float, assertions: float) -> float:
    """Return a CPU time in seconds with assertions, from that of a release build, `release_s`.

    `assertions`: `Host.assertions`, 0 or 1; a value between gives the mean of both builds.
    """
    return (1.0 + assertions * (ASSERTED[name] - 1.0)) * release_s


def of_build(host: Host) -> Host:
    """Return a host whose constants include the time of assertions, if it has any.

    Call it once, where a host is made of a configuration; the costs of reads add the time themselves (operations.py).
    """
    if not host.assertions:
        return host
    names = (name for name in ASSERTED if hasattr(host, name))
    return replace(host, **{name: asserted(name, getattr(host, name), host.assertions) for name in names})
