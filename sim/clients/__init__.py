"""Clients as a fluid: their demand, what stores and machine let through, and how long their operations take.

- The process that advances time between changes: clients. Each group: group, arrival_queue, unstalled. Clients of all
  databases: all_clients.
- Rates as a function of the state of stores and machine, and their solver: rates. What stall conditions admit: admission.
  Costs and times of operations: op_costs, op_times.
- Memtables that fill: memtable_fill; their switches: memtable_switches.
- Waits and latencies: write_waits, latency. Reads: family_reads, reads, tables, table_tails, warming_cache, lookups, seeks.
- What schedulers and tuners are told of all this: control.
"""
