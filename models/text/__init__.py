"""Text of unknown origin, read line by line: LOGs, OPTIONS files, option strings and pasted statistics.

- compression: decompression within limits; files: encodings and lines of a file.
- wrappers: messages that a program put into JSON objects or quotes; prefixes: what a collector put before each line.
- stamps: time stamps of RocksDB and of the programs that embed it.
- plain_lines: all of it together, the lines that the parsers know.
- csv_rows: rows of CSV files.
- printable: such a text for a terminal.
"""
