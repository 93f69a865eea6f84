"""Command line: parse, call, print, draw. It lies on top of the API and of the pages.

- main: dispatcher with the table of verbs. arguments: parsers made from requests. running: budget, cluster, folders,
  interruption, pages. completion: shell completion.
- Simulate: run, with hydra_runs and launched for what Hydra starts; compare, sweep, results, runs, catalogue
  (`list`, `show`). Questions about a store: studies.
- Real stores: import_log, measure, record, calibrate, validate, papers. Pages: report, trace, lab, course.
"""
