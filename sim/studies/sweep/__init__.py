"""Sweeps: runs of many configurations of one store, and the analysis of their results.

- Space: ranges (from one quantity to another, with rounding), space (keys with several values), designs (points of a
  space).
- Runs: sweep (all runs of a design).
- Analysis: measured (results as arrays), effects (main effects and interactions), sensitivity (Sobol indices), best
  (configurations and Pareto front), analysis (all of them).
- Results: columns (of the index, with units), query (select, group and sort rows; SQL by DuckDB).
"""
