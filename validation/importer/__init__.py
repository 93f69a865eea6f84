"""A configuration, tables and a page from the LOG of one store.

- verb: `lsmlab import`; reading: LOG, options and report of a store.
- workload: load that a LOG shows; load: that load as keys of a workload; fills: when each memtable was filled.
- observation: what the LOG shows, before any estimate; wal: whether there was a write-ahead log.
- estimators: all estimators in their order; estimates: inferred numbers with errors; cpu: CPU time of jobs; job_times:
  starts and ends of jobs; fsyncs: device from fsyncs; throughput: limits of the device; clients: cost of one write.
- configuration: experiments, parameter set and trace; tables: Parquet tables; text: what the terminal shows.
"""
