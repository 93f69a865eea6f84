"""A configuration, tables and a page from the LOG of one store.

- verb: `lsmlab import`; reading: LOG, options and report of a store.
- workload: load that a LOG shows; load: that load as keys of a workload; fills: when each memtable was filled.
- estimates: inferred numbers with errors; rates: CPU and bandwidth; fixed_costs: costs of a job besides its bytes;
  fsyncs: device from fsyncs; throughput: limits of the device; write_cost: cost of one write.
- configuration: experiments, parameter set and trace; tables: Parquet tables; text: what the terminal shows.
"""
