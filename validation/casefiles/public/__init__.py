"""Published runs as cases: a file in tables/ describes each table (docs/how-to/add-public-runs.md).

- cases: all cases, with repeats combined; table: builds runs from a table's rows and the outputs beside their LOGs;
  template: values from columns.
- sessions.yaml: fitted write bandwidth of each drive in each session (day of measurement).
"""
