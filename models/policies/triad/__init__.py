"""TRIAD. picker: RocksDB's levelled picker with deferred L0 compactions, hot keys in memory and the WAL as L0."""
