"""Comparison of several configurations that ran with the same seeds.

- compare: the subcommand. answer: differences of each run from the first one, as JSON. words: their summary in a sentence.
"""
