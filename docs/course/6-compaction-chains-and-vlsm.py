# ---
# title: Compaction chains and vLSM
# aim: You learn what a stalled writer really waits for, a chain of compactions, and how vLSM makes the chain thin and short.
# invariants:
#   - Where no level may exceed its target, a flush needs room in L0, L0 in the next level, and so on; the jobs that
#     make room one after the other are a chain.[^chain]
#   - The width of a chain is the bytes that each level moves, its length the number of levels.[^width]
#   - A writer that waits for a chain waits until the last of its jobs has ended, and writes go on meanwhile only as
#     far as L0 has a gap.[^gap]
# notes:
#   chain: >-
#     vLSM (Xanthakis et al., arXiv 2407.15581), section 1 (background/rocksdb_io.md, What it changes). RocksDB
#     itself lets levels exceed their targets, and counts the excess as debt.
#   width: >-
#     vLSM's terms (background/vlsm.md, Arithmetic).
#   gap: >-
#     This project's term (background/l0-gap.md, Over the gap).
#   rocksdb-io: >-
#     The reference in vLSM's evaluation, as this project reads it: L0 stops the writers at four files, and no level
#     exceeds its target (background/rocksdb_io.md, Assumptions).
#   vlsm: >-
#     vLSM's rules for L0, for the files of L1 and for the step from L1 to L2
#     (behaviour/vlsm.md, vLSM flush and L0; vLSM output cutting; vLSM picks from L1).
#   batch: >-
#     Run: chain_bytes and chain_levels in the summary: bytes that the jobs behind a stall read and write.
#   idle: >-
#     Run: `assert reference.summary["device"]["utilisation"] < 0.2` and
#     `assert doubled.summary["longest_stall_s"] > 0.8 * reference.summary["longest_stall_s"]`. The jobs of a chain
#     depend on each other, and one job waits for its own reads, merges and writes in turn.
#   thin: >-
#     Run: `assert vlsm.summary["chain_bytes"]["mean"] < reference.summary["chain_bytes"]["mean"] / 3` and
#     `assert 0 < vlsm.summary["longest_stall_s"] < reference.summary["longest_stall_s"] / 2`.
#   price: >-
#     Run: `assert 1.4 < vlsm.summary["write_amplification"] / reference.summary["write_amplification"] < 2`, the
#     bytes; and `assert vlsm.summary["stalls"] > 2 * reference.summary["stalls"]`, the stops. With uniform keys a
#     file of L0 overlaps nearly all of L1 (behaviour/vlsm.md, vLSM flush and L0).
#   slack: >-
#     Run: `assert slack.summary["stalls"] == 0`. The whole curve is on the background page
#     (background/l0-gap.md, Over the gap).
#   low: >-
#     Run: `assert grid[4_000]["vLSM"] > grid[4_000]["RocksDB-IO"]` and
#     `assert grid[16_000]["vLSM"] < grid[16_000]["RocksDB-IO"] / 2`.
#   slack-grid: >-
#     Run: `assert all(row["RocksDB-IO with a gap"] < 0.001 for row in grid.values())`.
# ---

# %% [markdown]
# ## The picture
#
#     memtable --flush--> L0 --compaction--> L1 --compaction--> L2 ...
#       needs room in       needs room in      needs room in
#
# Why does a store stop its writers for seconds, when a flush takes a fraction of a second? Because the flush needs
# room in L0. If L0 is full, its compaction has to end first; if L1 has no room for that, files of L1 have to move to
# L2 before, and so on. A writer waits for this whole chain.[^chain]
#
# The vLSM paper makes it visible with *RocksDB-IO*, a RocksDB whose levels never exceed their targets. Its L0 holds
# four files and is compacted as one batch.[^rocksdb-io] vLSM is built to make the chain thin and short. It compacts
# one file of L0 at a time, cuts L1 into small files that overlap few files below, and makes the step from L1 to L2
# larger to save a level.[^vlsm]

# %%
import lsmlab
from lsmlab import course

RATE = 12_000
LOAD = [
    "device=nvme", "workload=constant", "workload.read=0", "workload.update=0", "workload.insert=1", "workload.preload=0",
    "workload.num=3M", "workload.value_size=400", "workload.duration=60s", "engine.options.max_background_jobs=4",
]  # fmt: skip
ROCKSDB_IO = [
    "engine=rocksdb_io", *LOAD, "engine.options.write_buffer_size=4MiB", "engine.options.target_file_size_base=4MiB",
    "engine.options.max_bytes_for_level_base=16MiB",
]  # fmt: skip
VLSM = [
    "engine=vlsm", *LOAD, "engine.options.write_buffer_size=4MiB", "engine.options.target_file_size_base=1MiB",
    "engine.picker.overflow_limit=4MiB",
]  # fmt: skip
STORES = {"RocksDB-IO": ROCKSDB_IO, "vLSM": VLSM, "RocksDB-IO with a gap": [*ROCKSDB_IO, "engine.l0_gap_files=1"]}


def sent(rate):
    """Run the three stores with a rate of writes per second."""
    return {name: lsmlab.run([*store, f"workload.rate={rate}"], progress=False) for name, store in STORES.items()}


three = sent(RATE)
reference, vlsm, slack = three.values()
TWICE = ["device.read_bandwidth=7000MB/s", "device.write_bandwidth=5400MB/s"]
doubled = lsmlab.run([*ROCKSDB_IO, *TWICE, f"workload.rate={RATE}"], progress=False)

# %% [markdown]
# Both stores take {{ RATE | count }} writes per second on the same NVMe drive, with the same memory: memtables of
# {{ 4194304 | size }}. RocksDB-IO has files of {{ 4194304 | size }}, vLSM of {{ 1048576 | size }}. A batch of L0 has
# {{ 4 * 4194304 | size }} in RocksDB-IO.

# %%
course.predict(
    "chain", "How many MiB does the largest chain behind a stall of RocksDB-IO read and write?", unit="MiB", guess=None
)

# %%
assert reference.summary["device"]["utilisation"] < 0.2
assert doubled.summary["longest_stall_s"] > 0.8 * reference.summary["longest_stall_s"]
course.reveal("chain", reference.summary["chain_bytes"]["max"] / 2**20)

# %%
course.areas(
    {
        "one memtable": 4 * 2**20,
        "a batch of L0": 4 * 4 * 2**20,
        "its mean chain": reference.summary["chain_bytes"]["mean"],
        "its largest chain": reference.summary["chain_bytes"]["max"],
    },
    "What a writer of RocksDB-IO waits for, although it only needs room for one memtable.",
)

# %%
course.figure(
    reference.plot.throughput(),
    "RocksDB-IO: writes per second, with the stops of its writers. Where the line stays flat, the writes that waited followed "
    "within the same second: a mean hides what P99 shows.",
)

# %% [markdown]
# Behind a stop stand up to {{ reference.chain_bytes.max | size }} in {{ reference.chain_levels.max | count }} levels,
# because each level must merge the bytes with those that they overlap.[^batch] The longest stop takes
# {{ reference.longest_stall_s | seconds }}, and writers stand still for {{ reference.stall_fraction | percent }} of
# the time, although the drive is only {{ reference.device.utilisation | percent }} busy. On a drive of twice the
# bandwidth it still takes {{ doubled.longest_stall_s | seconds }}, because the jobs of a chain wait for each
# other.[^idle]

# %%
course.predict(
    "price",
    "vLSM shortens these stops. What does it pay?",
    choices=["it writes fewer bytes in all", "it writes about the same bytes", "it writes half as many bytes again, or more"],
    guess=None,
)

# %%
assert 0 < vlsm.summary["longest_stall_s"] < reference.summary["longest_stall_s"] / 2
assert vlsm.summary["chain_bytes"]["mean"] < reference.summary["chain_bytes"]["mean"] / 3
assert vlsm.summary["stalls"] > 2 * reference.summary["stalls"]
assert 1.4 < vlsm.summary["write_amplification"] / reference.summary["write_amplification"] < 2
assert slack.summary["stalls"] == 0
course.reveal("price", "c")

# %%
course.bars(
    {"RocksDB-IO": reference.summary["write_amplification"], "vLSM": vlsm.summary["write_amplification"]},
    title="Write amplification",
    unit="bytes written per byte flushed",
    caption="Bytes that flushes and compactions write per flushed byte.",
)

# %%
course.areas(
    {"RocksDB-IO": reference.summary["chain_bytes"]["mean"], "vLSM": vlsm.summary["chain_bytes"]["mean"]},
    "The mean chain behind a stop.",
)

# %% [markdown]
# ## Why
#
# A chain of vLSM has {{ vlsm.chain_bytes.mean | size }} instead of {{ reference.chain_bytes.mean | size }}, so its
# longest stop takes {{ vlsm.longest_stall_s | seconds }} instead of {{ reference.longest_stall_s | seconds }},[^thin]
# and its P99 is {{ vlsm.write_latency_s.p99 | seconds }} instead of {{ reference.write_latency_s.p99 | seconds }}.
# The price: it rewrites nearly all of L1 for each single file of L0,
# {{ vlsm.write_amplification / reference.write_amplification | ratio }} times the bytes of RocksDB-IO. And it stops
# more often, {{ vlsm.stalls | count }} instead of {{ reference.stalls | count }} times.[^price] Total work decides
# how much a store can sustain; the *size of a step* decides how long somebody waits.
#
# ## What removes the stops
#
# In both stores writers stop as soon as L0 is full: no file lies between the start of its compaction and the stop of
# writers. Give RocksDB-IO a **gap** of one file, as the third store above, and it has {{ slack.stalls | count }}
# stops at this rate: the writes of one chain fit into one more file.[^slack] So before you admire a design that
# shortens chains, ask how large a gap the store had that it was compared with. Move the slider to see the three
# stores at other rates.

# %%
grid = {
    rate: {name: run.summary["write_latency_s"]["p99"] for name, run in (three if rate == RATE else sent(rate)).items()}
    for rate in (4_000, 8_000, 12_000, 16_000)
}
assert grid[4_000]["vLSM"] > grid[4_000]["RocksDB-IO"]
assert grid[16_000]["vLSM"] < grid[16_000]["RocksDB-IO"] / 2
assert all(row["RocksDB-IO with a gap"] < 0.001 for row in grid.values())
course.slider(
    {f"{rate:,}": course.bars(row, title="", caption="", unit="s") for rate, row in grid.items()},
    title="P99 of the writes by rate",
    label="writes / s",
    start=2,
    caption="Latency that one write in a hundred exceeds, in an open loop.",
)

# %% [markdown]
# At the lowest rate the order is another one: RocksDB-IO stops so rarely that fewer than two writes in a hundred meet
# a stop, and the many short stops of vLSM give the larger P99.[^low] The store with a gap has no stop at any of these
# rates.[^slack-grid]
