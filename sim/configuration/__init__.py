"""Configuration: from overrides and files to plain, resolved dictionaries.

- One configuration: compose, then checks. Text of overrides: overrides. Options from RocksDB's files: options_input.
  Constants of a machine: parameters.
- Composed choices of entries (bases), in memory (base_cache) and on disk (base_files). Overrides set values in them, read
  without Hydra (plain_overrides) or by its parser (parsed_overrides). Files of entries: entries.
- Many configurations: combinations; names of configurations: names.
- Configurations of others: folders (as Hydra reads them), trust (names that may be called), yaml_text (checked reading of
  YAML files).
- Errors in one line: messages. Renamed keys: old_names.
"""
