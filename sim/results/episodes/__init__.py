"""Explanation of the write stalls of a run: what they cost, which jobs they waited for, and which resource was short.

Pure functions of tables; background/stalls.md explains the terms.

- Operations that clients could not do: losses. Stalls merged into episodes: merging.
- Use of device, cores, slots and limiter by time: usage. Jobs behind an episode and their waits: blame.
- The short resource: bottleneck. Keys of summary.json: explanation; its data from a simulated
  run: of_run. Sentences: words.
- Latency of an open loop at the rate of a closed one: open_loop.
"""
