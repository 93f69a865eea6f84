"""Run store and executors: keep the results of runs, and simulate the runs that are not in the store.

- One run: key (digest of configuration, files that it names, seed and code), store (a folder per run, and its tables), task
  (simulate into the store), loading (imports the simulation).
- Execution: executor (the protocol, and execution in this process), places (choice of an executor), futures (the loop for
  all engines that return futures), worker (what a worker does). Engines: local (processes of this machine), on_dask (Dask,
  Slurm, PBS, LSF, SGE), on_ray.
- Many runs: batch (simulate the runs that the store lacks, yield each as it ends), run_progress (runs done, time left),
  index (one row per run, with typed columns).
- Cost before a run starts: estimate (CPU time and memory, from counts that the configuration gives).
"""
