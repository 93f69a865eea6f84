"""The verbs of the command line, and runs by the dozen.

- Verbs: verbs, catalogue; their options: arguments; shell completion: completion.
- Running: batch, sweep, replications; what happens to finished runs: finishers.
"""
