"""LDC, lower-level driven compaction. picker: the picker with links, and the tuner of its threshold."""
