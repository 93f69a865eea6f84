"""The papers suite: simulates published experiments in their settings and compares the results with the figures.

- reproduce: the request and the verdicts on its claims.
- claims/<paper>.yaml: the claims of each paper; suite: reads them; claim: one figure of a paper.
- expression: the language in which a claim computes its figure from runs; measures: its functions.
- runs: simulates the settings; verdict: reproduced or not; released: recorded runs of the authors' code.
- document: writes docs/papers.md; text: output on the terminal.
"""
