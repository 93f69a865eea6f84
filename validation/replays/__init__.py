"""Replays: a recorded store's steps, each answered by the policies.

- recording: LOG, MANIFEST and options of a run; commits: version edits with their times; timeline: their order;
  steps: what a replay does with each.
- contents: keys that recorded files must hold; replay: the replay; checks: right and wrong answers.
"""
