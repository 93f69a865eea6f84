"""Trace of a run for Perfetto's viewer: Chrome's JSON trace events.

- Document: document. Events of the format: events. Tracks of jobs, stalls and memtables: tracks.
- Arrows along blame chains: flows. Curves: counters.
"""
