"""Tuning: search a space of settings for a goal under limits, with Optuna.

- dimensions: dimensions of a space as Optuna's distributions. objective: runs and values of the points of a study.
- study: rounds of a search that can be resumed. verdict: the best point on new seeds, and the contribution of each setting.
- text: result for the terminal. tune: `lsmlab tune`.
"""
