"""Workloads: keys, values, mix and pace of clients.

- base: contract; make: workload of a configuration; families: shares of column families;
  arrivals: closed and open loop.
- choosers: keys evenly or in sequence; skewed: keys by popularity or recency; ranks: laws of popularity; popularity:
  of blocks; key_ranges: mixgraph's keys; hashes: scattering; mt19937: db_bench's key sequences.
- values: value sizes; reads: costs of reads.
- db_bench, db_bench_reads, mixgraph, ycsb, generic: the workloads.
"""
