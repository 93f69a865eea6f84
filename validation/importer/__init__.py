"""Import of one store's LOG: configuration, tables and a page.

- importing: all steps, and the folder that they write; reading: LOG, options and db_bench's report of a store.
- workload: load inferred from the LOG; families: loads of several column families; load: keys of the workload group.
- observation: input of the estimators, and whether the store wrote a WAL.
- estimators: all estimators in their order; estimates: inferred numbers with errors; cpu: CPU time of jobs; job_times:
  starts and ends of jobs; fsyncs: device constants from fsyncs; throughput: device limits; hypotheses: what jobs with direct
  I/O waited for; clients: cost of one write.
- configuration: inferred store, machine, limits and load; entries: their files (experiments, entries of groups, parameter
  set, trace); tables: Parquet tables; text: output for the terminal.
"""
