"""The scorecard: simulates every case, compares it with the measured run, and computes errors by metric.

- session: the request and the scorecard of it; sources: collects the cases; runs: simulates the cases in parallel.
- metrics: definitions of the metrics, with metrics.yaml; score: errors by case and metric; card: results of one session;
  trends: pairs of cases that differ in one key; model_errors: learns the model's error, and how well the intervals hold;
  catalogue_cases: cases without their machine.
- theory: checks against closed forms, with a flash drive simulated page by page; real_engines: cases from
  recordings of other engines; imported_cases: reruns and what-ifs from LOGs.
- findings: explanations of missed targets; ci_baseline: medians that CI compares.
- tables: rows and columns of all tables as data, with the texts of sections.yaml; document: writes docs/validation.md;
  text: output on the terminal; groups: errors by group of cases.
"""
