"""From what a user asks for to plain, resolved configurations.

- One: compose; RocksDB's own files: options_input; constants of a machine: parameters.
- Many: combinations.
- What is wrong with one, in a line: messages.
"""
