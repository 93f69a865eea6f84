"""Results contract: all tables and numbers of a run and of an imported LOG, with type, unit and meaning.

- columns: columns, tables and the version of the contract; run_tables: the tables of a simulated run.
- log_tables: the tables of an imported LOG; summary_keys: the keys of summary.json.
- tables_document: text of docs/reference/tables.md.
"""
