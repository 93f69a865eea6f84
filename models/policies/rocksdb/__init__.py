"""RocksDB's policies.

- parts: all five, from options; tiered: those of universal and FIFO compaction.
- leveled, universal, fifo: pickers; levels: targets, scores and debt; l0: rules of level 0; inputs: growth of the
  inputs; priority: order of files.
- cutter: ends of output files; boundaries: grandparents' file boundaries; subcompactions: parts of a compaction.
- throttle: stall conditions; delay: sleeps of delayed writers.
- scheduler: jobs and pools; slots: background jobs at a time.
"""
