"""Fits of the constants of machines and devices to records of real runs.

- fit: calibration of one machine from its recorded runs; hold_out: errors on cases, and on kinds of
  run, that the fit has not seen.
- recorded: one recorded run; searched_runs: sorted runs that its reads search.
- terms: equations from costs; job_equations: background jobs; client_equations: clients; short_writes: histograms of
  unstalled operations.
- solve: least squares with priors; set_text: calibration as text, JSON and
  parameter file, with sources.yaml; parameter_file: format of parameter files.

docs/reference/parameter-sets.md says how each set in configs/parameters came about.
"""
