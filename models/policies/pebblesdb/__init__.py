"""PebblesDB's policies.

- picker: compactions of full guards; guards: keys that divide levels; fixed_size: cutter at the target size.
- clients: write throttle, and compactions driven by seeks.
"""
