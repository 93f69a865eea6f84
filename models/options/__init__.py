"""RocksDB's options: names, defaults by version, files.

- fields: all options as data; scope: options of a database and of a column family; defaults: by version;
  values: values that files and people write.
- sanitise: changes that RocksDB makes on open; options: the options of a run.
- options_text: formats of OPTIONS file and LOG header; options_file: options of a real store.
"""
