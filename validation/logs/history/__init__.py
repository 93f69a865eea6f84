"""What happened in a store, from the records of its LOG.

- jobs: flushes, compactions and moves; builder: jobs from records; moves: trivial moves and FIFO's deletions.
- witness: lines of text that repeat or contradict events; file_properties: tombstones and sizes of files.
- tree: files and bytes by level over time; stalls: write stalls by cause; fills: when each memtable was filled.
- summary: the numbers of summary.json; checks: what is missing from a LOG.
"""
