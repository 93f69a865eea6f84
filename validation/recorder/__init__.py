"""Records runs of real RocksDB: a driver with the configuration of a case, on a device with known limits.

- recording: the request and the runs of a case.
- command: converts a case to invocations of a driver; limits: cgroup of a run.
- drivers: what differs between db_bench, rocksdict and rocksdbjni; flags: flags of db_bench; rocksdict_bench: db_bench in
  Python, on the RocksDB inside the package rocksdict; rocksdbjni: finds Java and the jar for RocksdbjniBench.java,
  db_bench in Java, on the RocksDB inside Maven's rocksdbjni.
- one_run: runs the driver and reads counters every second; speed: measures the machine's speed before and after a run;
  outcome: measured numbers of a run; keep: files that are stored in the case's folder.
"""
