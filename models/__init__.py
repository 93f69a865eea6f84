"""Pure models of engines, devices and workloads: no clock, no input or output, no randomness of their own.

From the ground up; no package imports a later one:

- errors: InputError; text: lines of LOGs, OPTIONS files and statistics of any origin, as the parsers know them;
  traces: recorded operations of stores and caches; units: quantities with units; version: RocksDB versions;
  since: first releases of rules;
  targets: classes named in configurations.
- costs: CPU time of operations and jobs; tree: levels, files and sizes; options: RocksDB's options.
- workloads: keys, values and pace of clients; policies: pickers, cutters, throttles, schedulers and tuners.
- devices: bandwidth, latency and limits of storage devices; engines: combinations of policies.
"""
