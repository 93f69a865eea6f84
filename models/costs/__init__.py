"""The cost model: how long each piece of a store's work takes on a machine.

- host: the constants of a machine's processor and file system, with units, meaning and prior; prior: priors of fits.
- cost: a duration as a sum of constants times counts, for a run and for a fit.
- jobs: CPU time of flushes and compactions, fixed times of jobs, deletions of files.
- operations: CPU time of writes, point reads and scans; the serial part of a group commit.
- cores: core contention, time slices, waits for a core.
- transfers: requests of a device, bytes by bandwidth plus latency.

The simulation evaluates a cost with the constants of its machine (`Cost.seconds`). The calibrator and the importer ask
the same cost for the counts (`Cost.counts`) and solve for the constants. docs/how-to/add-a-cost-constant.md shows how to
add one; docs/decisions/0018 says why it is built so.
"""
