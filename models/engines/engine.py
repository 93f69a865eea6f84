"""An engine: five decisions over one store, and the options that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from lsmlab.models.engines.table_reads import TableReads
from lsmlab.models.options.options import RocksDbOptions
from lsmlab.models.policies.decisions import Compaction, Cutter, Picker, Throttle
from lsmlab.models.policies.flush_rules import KeepsHotKeys
from lsmlab.models.policies.scheduling import Scheduler
from lsmlab.models.policies.tuning import Changes, Tuner
from lsmlab.models.tree.blocks import BlockFormat
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version


class Engine(Protocol):
    """What the simulation asks of an engine. `lsmlab.models.engines.rocksdb` is the first."""

    name: str
    version: Version
    options: RocksDbOptions
    notes: Sequence[str]
    """What sanitising changed, for the reader of the result."""
    picker: Picker
    throttle: Throttle
    cutter: Cutter
    compression_ratio: float
    """Compressed by uncompressed bytes; 1 without compression."""
    compressed: bool
    """Whether jobs compress the blocks that they write and decompress those that they read."""
    block_format: BlockFormat
    """Where data blocks end."""
    flushes_one_memtable: bool
    """Whether a flush takes the oldest memtable alone (LevelDB, vLSM), or all that wait."""
    flush_keeps_versions: bool
    """Whether a flush writes every entry of the memtable, overwritten ones too (LevelDB), or the newest of each key."""

    hot_keys: KeepsHotKeys | None
    """The picker, if it leaves hot keys of a full memtable in memory (TRIAD)."""
    values_in_wal: bool
    """Whether files of L0 hold offsets into the log instead of values (TRIAD)."""
    table_reads: TableReads
    """How tables are read."""
    reverts_options: bool
    """Whether a job that ends puts the options back in force with which it began (RocksDB before 9.11)."""

    @property
    def smallest_file_bytes(self) -> int:
        """Size of the smallest full file of any level."""

    def scheduler(self) -> Scheduler:
        """A scheduler as it is when a store is opened."""

    def tuner(self) -> Tuner | None:
        """A tuner as it is when a store is opened; None if options stay as they are."""

    def retuned(self, changes: Changes) -> Engine:
        """The same engine with options changed at run time."""

    def setting(self, name: str) -> Any:
        """Value of an option, or of a policy's setting (`picker.threshold`), by the name that a tuner gives it."""

    def new_tree(self) -> Tree:
        """An empty tree."""

    def memtable_entries(self, key_bytes: int, value_bytes: int, delete_share: float) -> float:
        """Writes of the average size that fill a memtable."""

    def flush_level(self, tree: Tree, lo: int, hi: int) -> int:
        """Level that a flushed file with keys in [lo, hi] goes to."""

    def target_file_bytes(self, tree: Tree, output_level: int) -> int:
        """Target file size of a level."""

    def grandparent_level(self, tree: Tree, output_level: int, lo: int, hi: int) -> int | None:
        """The level whose files guide the cutting of outputs; None if none does."""

    def subcompaction_bounds(self, tree: Tree, pick: Compaction, keys: KeyArray) -> Sequence[int]:
        """Ascending positions in the merged `keys` at which the job is split into parallel parts."""

    def bottommost_bytes(self, tree: Tree, pending_bytes: int) -> int:
        """Bytes of files with nothing below them, as far as the throttle needs them at this debt (8.10+); else 0."""

    def inspects_keys(self, output_level: int) -> bool:
        """Whether the cutter looks at every key of a job that writes to `output_level`, which takes CPU."""
