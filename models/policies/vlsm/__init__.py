"""vLSM's policies, and RocksDB with limited debt (RocksDB-IO).

- picker: compactions of one L0 file, and of good vSSTs; vsst: cutter of variable-size SSTs.
- overflow: levelled compaction with a limit on the bytes over a target; l0_queue: write throttle with a queue in L0.
"""
