"""Stall analysis: what the write stalls of a run cost, which jobs they waited for, and which resource was short.

Pure functions of tables, except of_run, which takes them from a simulated run; background/stalls.md explains the terms.

- Operations that clients could not do: lost_operations. Stalls between which the store did not recover: stall_groups.
- Jobs that had to end before a stall: chains. Jobs behind a group of stalls and their waits: delaying_jobs.
- Stalled time divided among what held it up: stall_division, and stall_waits, which reads the tables for it.
- Use of device, cores, slots and limiter by time: resource_use. The resource with most of the stalled time: bottleneck.
- Whether the store stays as the run shows it: settled.
- What is said of options that are not simulated: not_simulated.
- Keys of summary.json: stall_analysis; for a simulated run: of_run. Sentences: sentences, and holder_sentences on what
  held up the stalls. The whole summary as text: summary_text.
"""
