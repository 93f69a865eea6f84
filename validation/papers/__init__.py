"""The papers' figures as a suite: each published experiment in its published setting, beside what is simulated.

- claim: one figure of a paper; claim_data: its data from claims/; numbers: numbers that texts name.
- vlsm, silk, silk_ycsb, adoc, ldc: runs and measures of each paper; silk_settings: SILK's experiments; vlsm_measures,
  silk_measures, adoc_measures: figures from runs; ldc_formulas: LDC's arithmetic.
- suite: all papers; runs: simulation of their settings; verdict: reproduced or not; released: recordings of the
  authors' code.
- document: docs/papers.md; text: the terminal; verb: `lsmlab papers`.
"""
