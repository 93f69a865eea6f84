"""Cost model: the time of each operation and background job of a store on a machine.

- host: the constants of a machine's processor and file system, with units, meaning and prior.
- assertions: CPU time of assertions, which some builds of RocksDB contain.
- cost: a duration as a sum of counts times constants, for runs and for fits; requests of a device.
- jobs: CPU time of flushes and compactions, fixed times of jobs, deletions of files.
- operations: CPU time of writes, point reads and scans; the serial part of a group commit.
- cores: core contention, time slices, waits for a core.

The simulation evaluates a cost with the constants of its machine (`Cost.seconds`). The calibrator and the importer use
the counts of the same cost (`Cost.counts`) and solve for the constants. docs/how-to/add-a-cost-constant.md shows how to
add a constant; docs/decisions/0018 gives the reasons for this design.
"""
