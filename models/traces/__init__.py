"""Recorded operations of a store or of a cache: readers of query traces.

- operations: the operations of a trace as arrays, and their collection within limits.
- query_trace: RocksDB's own binary trace; readable_trace: the text that its trace_analyzer makes of one; cache_trace: CSV
  files of public cache traces.
- reader: form of a file, and its operations.
"""
