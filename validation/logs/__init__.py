"""Readers of the output of real stores: LOG, statistics, MANIFEST, output of db_bench.

Text comes as plain lines from lsmlab.models.text, whatever its encoding and the programs that it passed.

- clock: times of lines; event_times: times of events; histogram_clock: rounding of latencies in histograms.
- records: record types of a LOG; lines: record or JSON of one line; reader: records of a whole LOG, which record_list keeps in
  memory or in a temporary file; hash_set: hashes of its lines; files: LOG files of one store in time order.
- bench_output: the whole output of db_bench, for recordings.
- bench: results and latencies of db_bench; stats: statistics dumps; statistics_tables: summary from them alone.
- manifest: version edits; leveldb: LOG of LevelDB; silk_driver: output of SILK's load generator.
- history: jobs, levels and stalls from the records.
- timings: jobs in seconds, for the fits of constants.
"""
