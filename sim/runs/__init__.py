"""Run store and executors: keep the results of runs, and simulate the runs that are not in the store.

- One run: key (digest of configuration, files that it names, seed and code), store (a folder per run), task (simulate
  into the store).
- Execution: executor (the protocol, and execution in this process), local (worker processes), worker (main loop of a
  worker process), waiting (tasks that wait for a worker), cluster (workers on Slurm and Ray), choice (selects an
  executor), loading (imports the simulation).
- Many runs: batch (simulate the runs that the store lacks, yield each as it ends), progress (runs done, time left).
- Cost before a run starts: estimate (CPU time and memory), expected (counts that the configuration gives).
- Tables: tables (of a stored run), typed (values of a configuration as numbers), rows (typed columns of many runs),
  index (one row per run).
"""
