"""Fits of the constants of machines and devices to records of real runs.

- verb: `lsmlab calibrate`; fit: calibration of one machine from its recorded runs;
  left_out: errors on cases that the fit has not seen; group_out: errors on kinds of run that the fit has not seen.
- recorded: one recorded run; searched_runs: sorted runs that its reads search; short_writes: equations from histograms of
  unstalled writes.
- terms: equations from costs; equations: all equations of the fit; job_equations: background jobs; client_equations:
  clients; job_costs: CPU time of a job.
- solve: least squares with priors; set_text: calibration as text, JSON and parameter file; parameter_file: format of
  parameter files; unseen: costs that the runs do not show.
- public: the 40-thread machine of the public runs; public_fits: single constants of it; public_groups: errors on groups of
  its runs that the fit has not seen; tracks: speed of a hard disk from outer to inner tracks; public_machines: the desktop and
  the small PC.
"""
