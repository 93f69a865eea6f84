"""Studies: questions about stores, each a function from a typed request to a typed answer.

- Basis: request (fields that are arguments), document (JSON), study (configurations with common seeds, one row per run),
  statistics (intervals), metrics (numbers that are compared), differences (paired, with intervals), model_errors (the
  model's own errors), replicated (several seeds in one summary).
- Store in question: baseline (an imported LOG, a run, or overrides, and changes to it), changes (in words).
- Questions: whatif, with the present state against the LOG; compare; advise with candidates (changes to try), goals and
  written_options (OPTIONS file); tune with optuna_search; sweep; plan; growth.
"""
