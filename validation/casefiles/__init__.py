"""Cases: a configuration, and what a real store did with it.

- case: a case.yaml; overrides: its groups as overrides of a configuration.
- real: measured numbers of a case, from its LOGs and series; values: numbers by dotted name; curves: distances of
  throughput curves.
- public: tables of public runs as cases.
"""
