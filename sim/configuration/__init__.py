"""Configuration: from overrides and files to plain, resolved dictionaries.

- One configuration: compose, with a cache of composed entries (bases). Options from RocksDB's files: options_input.
  Constants of a machine: parameters.
- Many configurations: combinations.
- Errors in one line: messages. Renamed keys: old_names.
"""
