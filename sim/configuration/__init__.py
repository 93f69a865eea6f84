"""Configuration: from overrides and files to plain, resolved dictionaries.

- One configuration: compose, with its checks. Text of overrides: overrides. Options from RocksDB's files: options_input.
  Constants of a machine: parameters. Files of entries and what they contain: catalogue.
- Many configurations: combinations; names of configurations and of their folders: names.
- Configurations of others: folders (as Hydra reads them), trust (names that may be called), interpolations (their limit).
- Errors in one line: messages.
"""
