"""Pure models: formulas and decisions without time, files or randomness of their own.

- errors: the error of bad input; units: quantities with units; version: RocksDB versions; targets: classes that
  configurations may name; sums: sums that are equal on every Python.
- costs: time and CPU of operations and jobs; tree: levels and files; options: RocksDB's options; workloads: keys,
  values and pace of clients.
- policies: the five decisions of an engine; devices: drives and volumes; engines: combinations of policies.
"""
