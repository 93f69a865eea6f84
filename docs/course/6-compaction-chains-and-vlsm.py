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

RATE, MORE = 12_000, 15_000
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
reference = lsmlab.run(
    [
        "engine=rocksdb_io",
        *LOAD,
        f"workload.rate={RATE}",
        "engine.options.write_buffer_size=4MiB",
        "engine.options.target_file_size_base=4MiB",
        "engine.options.max_bytes_for_level_base=16MiB",
    ],
    progress=False,
)
SMALL_FILES = [
    "engine.options.write_buffer_size=1MiB",
    "engine.options.target_file_size_base=1MiB",
    "engine.picker.overflow_limit=1MiB",
]
vlsm, pushed = (
    lsmlab.run(["engine=vlsm", *LOAD, f"workload.rate={rate}", *SMALL_FILES], progress=False) for rate in (RATE, MORE)
)

# %% [markdown]
# Both stores take {{ RATE | count }} writes per second on the same NVMe drive. RocksDB-IO has memtables and files of
# {{ 4194304 | size }}, vLSM of {{ 1048576 | size }}.

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
    "vLSM removes these stops. What does it pay?",
    choices=["it writes fewer bytes in all", "it writes about the same bytes", "it writes about twice the bytes"],
    guess=None,
)

# %%
assert vlsm.summary["stalls"] == 0 < reference.summary["stalls"]  # the text relies on it
assert pushed.summary["stalls"] > 0
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
# vLSM writes {{ vlsm.write_amplification / reference.write_amplification | ratio }} times the bytes of RocksDB-IO, and its
# P99 is {{ vlsm.write_latency_s.p99 | seconds }} instead of {{ reference.write_latency_s.p99 | seconds }}. It rewrites all
# of L1 for each single file of L0. But no writer waits for this work, because each step is small, and the drive had time to
# spare. Total work decides how much a store can sustain; the *size of a step* decides how long somebody waits.
#
# The work has a limit too. At {{ MORE | count }} writes per second vLSM has stalls again and a P99 of
# {{ pushed.write_latency_s.p99 | seconds }}: the jobs behind them spend {{ pushed.bottleneck.waits.sync | percent }} of their
# time in fsyncs, because many small files mean many fsyncs.
#
# By the paper's published rules, amplification doubles in the simulation; the paper reports about equal amplification. The
# background page on vLSM in this repository lists what agrees and what does not.
