"""Studies: questions about stores, each a function from a typed request to a typed answer.

- Basis: request (fields that are arguments), document (JSON), study (configurations with common seeds, one row per run),
  statistics (noise between seeds), metrics (numbers that are compared), intervals (those of the real store, from the learnt
  errors of the model; summary_intervals: of every number of a summary), differences (paired; a present state against its LOG).
- Store in question: baseline (an imported LOG, a run, or overrides, and changes to it); lengths (runs as long as it needs to
  settle, and what they say beside their numbers).
- Changes to try: candidate_table (all of them), candidate_rows (what a row is), present (the state that a change starts from,
  and conditions on it), candidates (those of one store, the most promising first).
- Questions: whatif; compare; advise with candidates, goals and written_options (OPTIONS file); tune with optuna_search;
  sweep; plan; growth.
"""
