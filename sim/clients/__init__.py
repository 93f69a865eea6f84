"""Clients as a fluid: their demand, what stores and machine let through, and how long their operations take.

- The whole: clients; each group: group, arrival_queue, unstalled, approach; what it asks of the machine: demand.
- Memtables that fill: filling; their switches: memtable_switches.
- What holds writes back: admission, sleeps, write_waits.
- How long operations take: op_times, latency. Reads: family_reads, reads, read_cost, tables, warming_cache,
  lookups, seeks.
- What schedulers and tuners are told of all this: control.
"""
