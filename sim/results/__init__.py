"""Results of a run: numbers, tables and texts, and the directories that contain them.

- One run: results; its databases with their clients: stores. Numbers of summary.json: summary, level_tables. Series per
  second: series.
- Several databases of one run: database_summaries, as text: database_text.
- Phases of a run, and actions beside clients: phase_records, phases. Changes of the device and failed jobs: conditions.
- Several runs, or the column families of one, side by side: comparison_text.
- Columns, types and meanings of every table: schema. As DataFrames: frames. Finished jobs and sums over them: job_sums.
- Tree at a given time, from version edits: tree_replay.
- Files: rundir, parquet, jsontext and csvtext write them; leftovers names and removes unfinished ones;
  stopping keeps Ctrl-C and SIGTERM away while files change. reading reads files.
"""
