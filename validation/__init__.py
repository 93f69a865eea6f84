"""Comparison of the simulator with real stores: their LOGs, recorded runs, public tables and papers.

- checkout: folders of a source tree: recorded cases, documents, shared data; markdown: tables and digests of documents;
  grouped_runs: several runs of each of many configurations.
- logs: readers of LOGs, statistics, MANIFESTs and db_bench's output.
- casefiles: cases, each a configuration with the values measured on a real store.
- replays: step-by-step comparison of RocksDB's compaction picks and files with the policies.
- calibrate: fits of a machine's constants to recorded runs.
- importer: configuration of a simulated run from one LOG.
- recorder: runs of real RocksDB on a limited device. measure: this machine's drive and cores, as a file.
- recordings: scripts that record the input of replays.
- scorecard: errors of all cases, and docs/validation.md.
- ablation: errors without each part of the model, and docs/ablation.md.
- papers: figures of papers, and docs/papers.md.
"""
