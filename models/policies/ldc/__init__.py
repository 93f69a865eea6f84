"""LDC, lower-level driven compaction.

- picker: links files, and rewrites the lower file later.
"""
