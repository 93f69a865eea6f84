"""Engine contract: the five policies of a store and the options that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from lsmlab.models.engines.table_reads import TableReads
from lsmlab.models.options.fields import Compression
from lsmlab.models.options.options import RocksDbOptions
from lsmlab.models.policies.decisions import Compaction, Cutter, Picker, Throttle
from lsmlab.models.policies.flush_rules import KeepsHotKeys
from lsmlab.models.policies.scheduling import Scheduler
from lsmlab.models.policies.tuning import Changes, Tuner
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.table_format import TableFormat
from lsmlab.models.tree.tree import Tree
from lsmlab.models.version import Version


class Engine(Protocol):
    """Interface of an engine to the simulation; `lsmlab.models.engines.rocksdb` implements it."""

    name: str
    version: Version
    options: RocksDbOptions
    notes: Sequence[str]
    """Changes that sanitising made to options, in words, for the summary of a run."""
    picker: Picker
    throttle: Throttle
    cutter: Cutter
    compression_ratio: float
    """Compressed bytes over uncompressed bytes of blocks that are compressed; 1 if no level has compression."""
    table_format: TableFormat
    """Table options that each SST file keeps."""
    flushes_one_memtable: bool
    """Whether a flush takes only the oldest immutable memtable (LevelDB, vLSM) or all of them."""
    flush_keeps_versions: bool
    """Whether a flush writes every entry of the memtable, overwritten ones too (LevelDB), or the newest of each key."""

    hot_keys: KeepsHotKeys | None
    """The picker, if it keeps hot keys of a full memtable in memory (TRIAD)."""
    values_in_wal: bool
    """Whether L0 files contain offsets into the WAL instead of values (TRIAD)."""
    table_reads: TableReads
    """Rules by which the engine reads tables."""
    reverts_options: bool
    """Whether a job that ends reinstalls the options with which it began (RocksDB before 9.11)."""

    @property
    def smallest_file_bytes(self) -> int:
        """Size in bytes of the smallest full file of any level."""

    def scheduler(self) -> Scheduler:
        """Return a scheduler in its state at the open of a store."""

    def tuner(self) -> Tuner | None:
        """Return a tuner in its state at the open of a store; None if options never change."""

    def retuned(self, changes: Changes) -> Engine:
        """Return the same engine with options changed at run time."""

    def setting(self, name: str) -> Any:
        """Return the value of an option or of a policy's setting (`picker.threshold`), by its name in `Changes`."""

    def new_tree(self) -> Tree:
        """Return an empty tree."""

    def memtable_entries(self, key_bytes: int, value_bytes: int, delete_share: float) -> float:
        """Writes of the average size that fill a memtable."""

    def flush_level(self, tree: Tree, lo: int, hi: int) -> int:
        """Level to which a flush writes a file with keys in [lo, hi]."""

    def flush_compression(self) -> Compression:
        """Return the compression of flushed files."""

    def level_compression(self, tree: Tree, level: int) -> Compression:
        """Return the compression of files that compactions write to a level."""

    def output_compression(self, tree: Tree, pick: Compaction) -> Compression:
        """Return the compression of the outputs of a compaction that was just picked."""

    def target_file_bytes(self, tree: Tree, output_level: int) -> int:
        """Target file size of a level in bytes."""

    def grandparent_level(self, tree: Tree, output_level: int, lo: int, hi: int) -> int | None:
        """Level whose files guide the cutting of outputs; None without one."""

    def subcompaction_bounds(self, tree: Tree, pick: Compaction, keys: KeyArray) -> Sequence[int]:
        """Ascending positions in the merged `keys` at which the job splits into subcompactions."""

    def bottommost_bytes(self, tree: Tree, pending_bytes: int) -> int:
        """Bytes of files that overlap no deeper file, if the throttle needs them at this debt (8.10+); else 0."""

    def inspects_keys(self, output_level: int) -> bool:
        """Return whether the cutter inspects every key of a job that writes to `output_level`, which takes CPU time."""
