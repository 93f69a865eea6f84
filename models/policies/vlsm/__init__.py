"""vLSM.

- picker: L0 files one by one, good vSSTs out of L1.
- vsst: cutter of variable-size SSTs.
- l0_queue: throttle by a queue of L0.
- overflow: leveled compaction with bounded overflow.
"""
