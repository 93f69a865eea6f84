"""Reader of what real stores print: LOG, statistics, MANIFEST, output of db_bench.

- text: text of a file, packed or plain; json_text: JSON of an event, whole or cut off.
- clock: times of lines; event_times: times of events; histogram_clock: times that histograms show.
- records: the records of a LOG; lines: one line to one record; reader: a whole LOG to records.
- bench: results of db_bench; stats: statistics dumps; tables: a summary from statistics alone.
- manifest: version edits; leveldb: LOG of LevelDB; silk_driver: output of SILK's load generator.
- history: jobs, levels and stalls from the records.
- timings: jobs as the fits of constants take them.
"""
