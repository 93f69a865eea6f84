"""LevelDB.

- picker: levels by score, files round-robin, seeks counted.
- parts: its cutter, throttle and scheduler.
"""
