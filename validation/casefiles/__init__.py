"""Cases: a configuration together with the measurements of a real store that ran it.

- case: reads a case.yaml; overrides: turns its groups into overrides of a configuration.
- real: collects a case's measured numbers from its LOGs and series; values: numbers by dotted name; curves:
  distances between throughput curves.
- public: builds cases from tables of published runs.
"""
