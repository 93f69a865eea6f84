"""Exploration: runs of many configurations of one store, and the analysis of their results.

- Space: ranges (from one quantity to another, with rounding), space (keys with several values), designs (points of a
  space).
- Runs: simulate (one run, in a worker), sweep (all runs of a design), budget (time that a sweep may take), sweep_verb
  (`lsmlab sweep`).
- Analysis: measured (results as arrays), effects (main effects and interactions), sensitivity (Sobol indices), best
  (configurations and Pareto front), analysis (all of them), analysis_text (for the terminal).
- Results: columns (of the index, with units), query (select, group and sort rows), sql (queries by DuckDB), results_verb
  (`lsmlab results`).
"""
