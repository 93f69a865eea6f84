"""RocksDB's policies.

- parts: settings of the policies, and the filter policy.
- leveled: the levelled picker; levels: targets, scores, debt; inputs: inputs of a compaction.
- priority: order of files; overlap_order: that of kMinOverlappingRatio, updated with each change; ttl_boost: its preference for
  old files; unstable_sort: equal elements in the order of std::sort.
- l0: rules for level 0; universal and fifo: the other pickers.
- due_files: marked and old files; manual: CompactRange and DeleteFilesInRange; ingest: levels of ingested files.
- delete_triggered: compactions of marked files in universal stores.
- forced_blob_gc: compactions because of garbage in blob files. places: paths and temperatures of new files.
- compression: compression types by level, and their CPU costs.
- cutter: ends of output files; boundaries: files of the grandparent level; subcompactions: parallel parts of a job.
- errors: effects of failed jobs, and the recovery.
- throttle: write stalls; delay: sleep of delayed writers; scheduler: background jobs and their number.
"""
