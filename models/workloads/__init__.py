"""Workloads: groups of clients with their operations, keys, values and pace.

- base: workloads and client groups; make: workloads, and the load of column families, from configurations; values: value
  sizes; arrivals: open and closed loop; part: part of a workload.
- recorded_keys: keys of recorded operations; fitted_keys: the distribution that fits them; replay: workload of all of them.
- choosers: distributions over keys, uniform and sequential; ranks: popularity by rank; skewed: keys by rank or recency,
  and access probabilities of blocks; key_ranges: keys of mixgraph.
- reads: filters, block cache, files per read.
- db_bench and db_bench_reads: db_bench's benchmarks; mixgraph: its mixgraph; ycsb: YCSB's workloads; generic: workloads by
  single settings; trace: recorded arrivals in CSV files, and traces of operations.
- phases: benchmarks and actions one after the other; actions: these, and those beside clients.
- mt19937: Mersenne Twister, as db_bench uses it; hashes: FNV-1a and SplitMix64.
"""
