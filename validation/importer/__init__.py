"""Import of one store's LOG: configuration, tables and a page.

- trace_load: load of a trace of operations, beside a LOG or alone; trace_import: import of a trace alone.
- importing: all steps, the estimators in their order, and the folder that they write; reading: LOG, options and db_bench's
  report of a store; gaps: files of a history in words; statistics: what the store counted itself;
  plausible: refusal of LOGs that say what no machine can do.
- workload: load inferred from the LOG; load: loads of several column families, and keys of the workload group.
- estimates: input of the estimators, and inferred numbers with errors; jobs: constants of flushes and compactions; device:
  constants and limits of the device; limits and hypotheses: what jobs with direct I/O waited for; cores: fewest cores in
  use; clients: cost of one write.
- configuration: inferred store, machine, limits and load; entries: their files (experiments, entries of groups, parameter
  set, trace); tables: tables of a result; text: output for the terminal.
"""
