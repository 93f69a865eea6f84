"""Results contract: every table and number that a run or an imported LOG leaves, with type, unit and meaning.

- columns: columns, tables and the version of the contract; run_tables: the tables of a simulated run.
- log_tables: the tables of an imported LOG; summary_keys: the keys of summary.json.
- page: the tables as docs/reference/tables.md.
"""
