"""Comparison of the simulator with real stores: their LOGs, recorded runs, public tables and papers.

- checkout: folders of a source tree: recorded cases, documents, shared data.
- logs: the one reader of what real stores print.
- casefiles: cases: a configuration with what was measured.
- replays: RocksDB's picks and files step by step against the policies.
- calibrate: constants of a machine from recorded runs.
- importer: a configuration from one LOG.
- recorder: runs of real db_bench on a limited device.
- recordings: scripts that record input of replays.
- scorecard: errors of all cases, and docs/validation.md.
- papers: figures of papers, and docs/papers.md.
"""
