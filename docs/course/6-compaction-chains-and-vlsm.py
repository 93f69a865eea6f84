# ---
# title: Compaction chains and vLSM
# aim: You learn what a stalled writer really waits for, a chain of compactions, and how vLSM makes the chain thin and short.
# invariants:
#   - A flush needs room in L0, L0 in the next level, and so on; the jobs that make room one after the other are a chain.
#   - The width of a chain is the bytes that each level moves, its length the number of levels.
#   - A writer that waits for a chain waits for its bytes divided by the speed of one job at a time.
# ---

# %% [markdown]
# ## The picture
#
#     memtable --flush--> L0 --compaction--> L1 --compaction--> L2 ...
#       needs room in       needs room in      needs room in
#
# Levels of *RocksDB-IO*, the reference in the vLSM paper, never exceed their targets. Its L0 holds four files and is
# compacted as one batch. vLSM compacts one file of L0 at a time, cuts L1 into small files that overlap few files below,
# and makes the step from L1 to L2 larger to save a level.

# %%
import lsmlab
from lsmlab import course

RATE = 12_000
LOAD = [
    "device=nvme",
    "workload=constant",
    "workload.read=0",
    "workload.update=0",
    "workload.insert=1",
    "workload.preload=0",
    "workload.num=3M",
    "workload.value_size=400",
    "workload.duration=60s",
    "engine.options.max_background_jobs=4",
]
ROCKSDB_IO = [
    "engine=rocksdb_io",
    *LOAD,
    f"workload.rate={RATE}",
    "engine.options.write_buffer_size=4MiB",
    "engine.options.target_file_size_base=4MiB",
    "engine.options.max_bytes_for_level_base=16MiB",
]
VLSM = [
    "engine=vlsm",
    *LOAD,
    f"workload.rate={RATE}",
    "engine.options.write_buffer_size=4MiB",
    "engine.options.target_file_size_base=1MiB",
    "engine.picker.overflow_limit=4MiB",
]
reference, vlsm, slack = (
    lsmlab.run(store, progress=False) for store in (ROCKSDB_IO, VLSM, [*ROCKSDB_IO, "engine.l0_gap_files=1"])
)

# %% [markdown]
# Both stores take {{ RATE | count }} writes per second on the same NVMe drive, with the same memory: memtables of
# {{ 4194304 | size }}. RocksDB-IO has files of {{ 4194304 | size }}, vLSM of {{ 1048576 | size }}.

# %%
course.predict(
    "chain", "How many MiB does the largest chain behind a stall of RocksDB-IO read and write?", unit="MiB", guess=None
)

# %%
course.reveal("chain", reference.summary["chain_bytes"]["max"] / 2**20)

# %%
course.figure(
    reference.plot.throughput(),
    "RocksDB-IO: writes per second, with the stops of its writers. The line stays flat, because the writes that waited follow "
    "within the same second: a mean hides what P99 shows.",
)

# %% [markdown]
# A batch of L0 has {{ 4 * 4194304 | size }}. Behind a stop stand up to {{ reference.chain_bytes.max | size }} in
# {{ reference.chain_levels.max | count }} levels, because each level must merge the bytes with those it overlaps. The
# longest stop takes {{ reference.longest_stall_s | seconds }}, and writers stand still for
# {{ reference.stall_fraction | percent }} of the time, although the drive is only
# {{ reference.device.utilisation | percent }} busy: one job at a time cannot use it.

# %%
course.predict(
    "price",
    "vLSM shortens these stops. What does it pay?",
    choices=["it writes fewer bytes in all", "it writes about the same bytes", "it writes half as many bytes again, or more"],
    guess=None,
)

# %%
assert 0 < vlsm.summary["longest_stall_s"] < reference.summary["longest_stall_s"] / 2  # the text relies on it
assert vlsm.summary["stalls"] > 2 * reference.summary["stalls"]
assert slack.summary["stalls"] == 0
more = vlsm.summary["write_amplification"] / reference.summary["write_amplification"]
course.reveal("price", "a" if more < 0.9 else "b" if more < 1.4 else "c")

# %%
course.bars(
    {"RocksDB-IO": reference.summary["write_amplification"], "vLSM": vlsm.summary["write_amplification"]},
    title="Write amplification",
    unit="bytes written per byte flushed",
    caption="Bytes that flushes and compactions write per flushed byte.",
)

# %%
course.bars(
    {"RocksDB-IO": reference.summary["write_latency_s"]["p99"], "vLSM": vlsm.summary["write_latency_s"]["p99"]},
    title="P99 of the writes",
    unit="s",
    caption="Latency that one write in a hundred exceeds, in an open loop of the same rate.",
)

# %% [markdown]
# ## Why
#
# A chain of vLSM has {{ vlsm.chain_bytes.mean | size }} instead of {{ reference.chain_bytes.mean | size }}, so its longest stop
# takes {{ vlsm.longest_stall_s | seconds }} instead of {{ reference.longest_stall_s | seconds }}, and its P99 is
# {{ vlsm.write_latency_s.p99 | seconds }} instead of {{ reference.write_latency_s.p99 | seconds }}. The price: it rewrites all of
# L1 for each single file of L0, {{ vlsm.write_amplification / reference.write_amplification | ratio }} times the bytes of
# RocksDB-IO. And it stops more often, {{ vlsm.stalls | count }} instead of {{ reference.stalls | count }} times. Total work
# decides how much a store can sustain; the *size of a step* decides how long somebody waits.
#
# ## What removes the stops
#
# In both stores writers stop as soon as L0 is full: no file lies between the start of its compaction and the stop of writers.
# Give RocksDB-IO a *gap* of one file, as the third store above, and it has {{ slack.stalls | count }} stops at this rate: the
# writes of one chain fit into one more file. So before you admire a design that shortens chains, ask how large a gap the
# store had that it was compared with. The background page on the gap of L0 in this repository has the curve.
