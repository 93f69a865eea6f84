"""Constants of machines and devices, fitted to records of real runs.

- verb: `lsmlab calibrate`; fit: recorded runs to constants.
- recorded: one recorded run; short_writes: what histograms say of unstalled writes.
- terms: equations from costs; equations: all equations of the fit; job_equations: background jobs; client_equations:
  clients; job_costs: CPU time of a job.
- solve: least squares with priors; set_text: a calibration in words; parameter_file: constants as a file.
- public: the 40-thread machine of the public runs; public_fits: its constants one by one; public_machines: the
  desktop and the small PC.
"""
