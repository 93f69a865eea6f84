"""Many runs: where results are kept, and how runs that are missing get done.

- One run: key (what addresses it: configuration, files that it names, seed, code), store (a folder per run), task (simulate
  into the store).
- Executing: executor (the protocol, and runs in this process), local (worker processes), worker (what one of them does),
  choice (which of them), stopping (SIGTERM acts like Ctrl-C).
- Together: batch (simulate what the store lacks, results as they end), progress (runs done, time left).
- Tables: tables (of a stored run), typed (values of a configuration as numbers), index (one row per run).
"""
