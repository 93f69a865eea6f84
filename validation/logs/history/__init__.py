"""History of a store from the records of its LOG: jobs, levels, stalls, memtables.

- jobs: types of jobs and files; builder: jobs from records; moves: trivial moves and FIFO's deletions.
- witness: text lines that repeat or contradict events; file_properties: tombstones and sizes of SST files.
- tree: files and bytes by level over time; stalls: write stalls by cause; fills: time span of each memtable fill.
- summary: values of summary.json; checks: consistency checks on a parsed LOG.
"""
