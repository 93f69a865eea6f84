"""What a run leaves: its numbers, tables and texts, and the directories that hold them.

- One run: results; its numbers: summary, level_tables, memory, chains, families; its seconds: series; as text:
  summary_text.
- Many runs: comparison_text.
- Columns, types and meanings of every table: schema; jobs that have ended: finished.
- Version edits: events; the tree from them: tree_replay.
- On disk: rundir, parquet, jsontext; read again: reading.
"""
