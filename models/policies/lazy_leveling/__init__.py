"""Lazy leveling.

- picker: sorted runs on every level but the last.
"""
