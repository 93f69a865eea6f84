"""ADOC's tuner.

- tuner: by the rules of the paper.
- released: as the authors released it.
"""
