"""LevelDB: RocksDB's store with LevelDB's memtable and flush (one memtable, every entry)."""

from __future__ import annotations

from typing import ClassVar

from lsmlab.models.engines.engine import Engine
from lsmlab.models.tree.memtable import leveldb_memtable_entries
from lsmlab.models.tree.table_format import Filter


class LevelDb(Engine):
    """LevelDB as a combination of policies.

    Blocks, filters and index entries of its files have the sizes of RocksDB's within 1 %, so one computation serves both.
    """

    flushes_one_memtable = True
    flush_keeps_versions: ClassVar[bool] = True
    table_filter: ClassVar[Filter] = Filter.STANDARD
    mapped_tables: ClassVar[float | None] = 1000.0
    """Maximum of mapped tables on 64-bit systems: kDefaultMmapLimit (behaviour/leveldb.md, LevelDB constants)."""

    def memtable_entries(self, key_bytes: int, value_bytes: int, delete_share: float) -> float:
        """Writes that fill a memtable (behaviour/leveldb.md, LevelDB memtable)."""
        size = self.options.write_buffer_size
        puts = leveldb_memtable_entries(size, key_bytes, value_bytes)
        if delete_share == 0.0:
            return puts
        return 1.0 / ((1.0 - delete_share) / puts + delete_share / leveldb_memtable_entries(size, key_bytes, 0))
