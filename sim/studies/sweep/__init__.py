"""Sweeps: runs of many configurations of one store, and the analysis of their results.

- space (keys with several values, ranges), designs (points of a space), sweep (all runs of a design).
- Analysis: measured (results as arrays), effects (main effects, interactions, Sobol indices), analysis (best
  configurations, Pareto front, and all of it in one answer).
- query: columns of the index with their units; select, group and sort rows; SQL by DuckDB.
"""
