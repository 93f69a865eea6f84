"""Recording of a real RocksDB: db_bench on a device of known limits, from the same case files that are scored.

- verb: `lsmlab record`; command: a case as flags of db_bench; limits: cgroup of a run.
- one_run: one run, watched every second; speed: speed of the machine just then; outcome: measured numbers; keep:
  files that stay in the case.
"""
