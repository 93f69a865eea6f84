"""Replays recorded runs: the policies decide at each step of a real store, and their answers are compared.

- recording: LOG, MANIFEST and options of a run; commits: version edits with their times; timeline: all steps in order;
  steps: the kinds of steps.
- contents: keys that recorded files must contain; replay: the replay itself; match_counts: counts of right and wrong answers.
"""
