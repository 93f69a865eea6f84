"""The papers suite: simulates published experiments in their settings and compares the results with the figures.

- claim: one figure of a paper; claim_data: reads its data from claims/; numbers: numbers of runs for texts.
- vlsm, silk, silk_ycsb, adoc, ldc: claims of each paper; silk_settings: SILK's experiments; vlsm_measures,
  silk_measures, adoc_measures: compute figures from runs; ldc_formulas: formulas of the LDC paper.
- suite: all papers; runs: simulates the settings; verdict: reproduced or not; released: recorded runs of the authors'
  code.
- document: writes docs/papers.md; text: output on the terminal; verb: `lsmlab papers`.
"""
