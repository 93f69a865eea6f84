"""Page that compares several runs.

- Page: page (headline numbers with links, differences from the first run). Runs and their names: members. Settings that
  differ: settings.
- Script: cursor.js, the cursor that the figures over time share.
"""
