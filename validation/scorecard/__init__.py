"""The scorecard: every case simulated, compared with what was measured, and summed up by metric.

- verb: `lsmlab validate`; sources: cases to score; runs: simulation of cases in parallel.
- metrics: what is scored; score: errors by case and metric; card: all of one session; trends: pairs that differ in
  one key; intervals: 90 % prediction intervals; model_errors: the model's own error.
- theory: closed forms; page_drive: a flash drive page by page; real_engines: recordings of other engines; engines:
  these one by one; imported_cases: reruns and what-ifs from LOGs.
- findings: misses with causes; baseline: medians that CI compares; document: docs/validation.md; text: the terminal.
"""
