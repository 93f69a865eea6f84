"""LevelDB's policies. picker: levels, files and seeks; parts: cutter, write throttle and scheduler with one thread."""
