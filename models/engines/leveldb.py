"""LevelDB: RocksDB's store with LevelDB's memtable, of which a flush takes one and writes every entry."""

from __future__ import annotations

from lsmlab.models.engines.rocksdb import RocksDb
from lsmlab.models.tree.memtable import leveldb_memtable_entries
from lsmlab.models.workloads.reads import Filter


class LevelDb(RocksDb):
    """LevelDB as a combination of policies; implements `lsmlab.models.engines.engine.Engine`.

    Its files have the same blocks, filters and index entries as RocksDB's within a percent, so their sizes are computed alike.
    """

    flushes_one_memtable = True
    flush_keeps_versions = True
    table_filter = Filter.STANDARD
    mapped_tables = 1000.0
    """Most that util/env_posix.cc maps on 64-bit systems (kDefaultMmapLimit).

    See (behaviour/leveldb.md, LevelDB constants).
    """

    def memtable_entries(self, key_bytes: int, value_bytes: int, delete_share: float) -> float:
        """Writes that fill a memtable (behaviour/leveldb.md, LevelDB memtable)."""
        size = self.options.write_buffer_size
        puts = leveldb_memtable_entries(size, key_bytes, value_bytes)
        if delete_share == 0.0:
            return puts
        return 1.0 / ((1.0 - delete_share) / puts + delete_share / leveldb_memtable_entries(size, key_bytes, 0))
