"""The verbs of the command line.

- Verbs: verbs, catalogue, stored (`lsmlab runs`); their options: arguments; shell completion: completion.
- One run: single; many: many, multirun, replications; through Hydra: sweep, launched.
- What happens to finished runs: finishers.
"""
