"""Recording of a real RocksDB: db_bench on a device of known limits, from the same case files that are scored."""
