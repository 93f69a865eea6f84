"""Page that compares several runs.

- Page: page. Runs and their names: members. Headline numbers with links: numbers_table. Differences from the first
  run: differences. Settings that differ: settings.
- Script: cursor.js, the cursor that the figures over time share.
"""
