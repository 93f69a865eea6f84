"""Records runs of real RocksDB: db_bench with the configuration of a case, on a device with known limits.

- verb: `lsmlab record`; command: converts a case to db_bench flags; limits: cgroup of a run.
- rocksdict_bench: db_bench in Python, on the RocksDB inside the package rocksdict.
- one_run: runs db_bench and reads counters every second; speed: measures the machine's speed before and after a run;
  outcome: measured numbers of a run; keep: files that are stored in the case's folder.
"""
