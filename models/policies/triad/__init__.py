"""TRIAD.

- picker: hot keys, duplicates of L0 and WAL as L0.
"""
