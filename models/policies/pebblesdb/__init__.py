"""PebblesDB's policies.

- picker: compactions of full guards; guards: keys that divide levels.
- parts: cutter, write throttle, and compactions driven by seeks.
"""
