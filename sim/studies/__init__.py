"""Studies: questions about stores, each a function from a typed request to a typed answer.

- Basis: request (fields that are arguments), document (JSON), study (configurations with common seeds, one row per run),
  statistics (intervals, several seeds in one summary), metrics (numbers that are compared, and the errors of the model),
  differences (paired, with intervals; a present state against its LOG).
- Store in question: baseline (an imported LOG, a run, or overrides, and changes to it); lengths (runs as long as it needs to
  settle, and what they say beside their numbers).
- Questions: whatif; compare; advise with candidates (changes to try), goals and written_options (OPTIONS file); tune with
  optuna_search; sweep; plan; growth.
"""
