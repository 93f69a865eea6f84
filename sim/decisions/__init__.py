"""Decisions about a store: its present state, alternatives to it, and the differences with their intervals.

- subject: the store in question, from an imported LOG, a run, or overrides; stored: changes to the configuration of a run.
- alternatives: changes of a command line. trials: runs of each alternative with common seeds.
- metrics: numbers that are compared; differences: paired differences; model_errors: the model's own errors.
- reproduction: present state against the LOG. changes: changes of an alternative in words.
- answer: answer as JSON; text: answer for the terminal. whatif: `lsmlab whatif`.
- candidates: single changes to try; goals: number to improve, and limits; advising: rounds of the search; advice: ranking;
  advice_text: advice for the terminal; written_options: OPTIONS file. advise: `lsmlab advise`.
"""
