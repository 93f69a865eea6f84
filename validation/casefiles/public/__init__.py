"""Published runs as cases: a file in tables/ describes each table (docs/how-to/add-public-runs.md).

- cases: all cases, with repeats combined; table: builds runs from a table's rows; template: values from columns.
- noise: spread of repeats.
- text: reads latencies from the db_bench output stored with a LOG.
- sessions.yaml: fitted write bandwidth of each drive in each session (day of measurement).
"""
