"""Public runs as cases: each table is described by a file in tables/ (docs/how-to/add-public-runs.md).

- cases: all cases, repeats merged; table: rows of a table to runs; template: values from columns.
- text: latencies in db_bench's output beside a LOG.
- sessions.yaml: write bandwidth of each drive by day, fitted.
"""
