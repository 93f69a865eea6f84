"""Trace of a run for Perfetto's viewer: Chrome's JSON trace events.

- Document, with arrows along blame chains: document. Events of the format: events.
- Tracks of jobs, stalls and memtables: tracks. Curves: counters.
"""
