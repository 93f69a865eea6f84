"""From what a user asks for to plain, resolved configurations.

- One: compose, on bases that it keeps; RocksDB's own files: options_input; constants of a machine: parameters.
- Many: combinations.
- Errors of a composition in one line: messages. Keys that have new names: old_names.
"""
