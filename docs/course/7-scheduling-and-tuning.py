# ---
# title: Scheduling and tuning with SILK and ADOC
# aim: You learn what another order of the same jobs can change, what larger batches and more threads can, and what neither can.
# invariants:
#   - SILK does not change the tree; it runs flushes first, compactions of L0 second, deep compactions when clients are quiet.
#   - ADOC does not change the order; it changes the number of threads and the size of memtables while the store runs.
#   - Work that must be done in a peak and a valley together has to fit into the bandwidth that clients leave in both.
# ---

# %% [markdown]
# ## The picture
#
# Clients come in peaks and valleys. RocksDB compacts as soon as there is work, in peaks too, so flushes share the device
# with several compactions. SILK gives the deep ones what clients leave, so they wait for the valley.

# %%
import lsmlab
from lsmlab import course

PEAKS = [
    "engine=silk",
    "device=nvme",
    "device.write_cap=40MB/s",
    "workload=peaks_valleys",
    "engine.options.write_buffer_size=4MiB",
    "engine.options.target_file_size_base=4MiB",
    "engine.options.max_bytes_for_level_base=16MiB",
    "engine.options.use_direct_reads=true",
    "engine.options.use_direct_io_for_flush_and_compaction=true",
    "engine.options.rate_limiter_refill_period_us=10000",
    "workload.value_size=1000",
    "workload.num=1M",
    "workload.duration=80s",
    "workload.peak_rate=8000",
    "workload.valley_rate=500",
    "workload.peak=20s",
    "workload.valley=20s",
]
SCALED = [
    "engine.scheduler.total_bandwidth=40MB/s",
    "engine.scheduler.least_bandwidth=10MB/s",
    "engine.scheduler.slack=1MB/s",
    "engine.scheduler.hysteresis=2MB/s",
    "engine.scheduler.chunk=1MiB",
    "engine.scheduler.measures=user",  # as the cap, which counts writes alone
    "engine.scheduler.limit_reads=false",
]
plain = lsmlab.run([*PEAKS, "engine/scheduler=rocksdb"], progress=False)
silk = lsmlab.run([*PEAKS, *SCALED], progress=False)


def flushes(run):
    """Return the durations of a run's flushes in s."""
    jobs = run.jobs[run.jobs["kind"] == "flush"]
    return (jobs["end_s"] - jobs["start_s"]).tolist()


def megabytes(run, consumer):
    """Return the times in s, and the MB that a consumer of the device writes in each second."""
    return run.series["t_s"].tolist(), (run.series[f"write_bytes_{consumer}_per_s"] / 1e6).tolist()


longest = {"RocksDB": max(flushes(plain)), "SILK": max(flushes(silk))}
shortest = {"RocksDB": min(flushes(plain)), "SILK": min(flushes(silk))}
course.lines(
    {
        "flushes of RocksDB": megabytes(plain, "flush"),
        "RocksDB, deep compactions": megabytes(plain, "deeper"),
        "SILK, deep compactions": megabytes(silk, "deeper"),
    },
    title="Written in peaks and valleys",
    x="time (s)",
    y="MB / s",
    caption="Bytes that flushes, and compactions of L1 and deeper levels, write in each second. Flushes follow the clients: "
    "they show the peaks.",
)

# %% [markdown]
# With RocksDB's scheduler the shortest flush of this store takes {{ shortest["RocksDB"] | seconds }}, the
# longest {{ longest["RocksDB"] | seconds }}, because it shares the device with compactions. All flushes write one memtable.

# %%
course.predict("flush", "How long is the longest flush with SILK?", unit="s", guess=None)

# %%
assert longest["SILK"] < 0.7 * longest["RocksDB"]  # the text relies on it
course.reveal("flush", longest["SILK"], form="seconds")

# %%
course.lines(
    {name: (list(range(1, len(d) + 1)), d) for name, d in (("RocksDB", flushes(plain)), ("SILK", flushes(silk)))},
    title="Duration of each flush",
    x="flush, in order",
    y="s",
    caption="Each point is a flush. All flushes write one memtable.",
)

# %% [markdown]
# SILK's flushes take {{ shortest["SILK"] | seconds }} to {{ longest["SILK"] | seconds }}: a constant pace, so a writer can
# rely on the next free memtable. It did not do the work faster; it did it later. If peaks leave more work than valleys can
# take, the deep levels grow from peak to peak, and SILK stalls as well, only later.
#
# ## ADOC: change the batch
#
# ADOC looks at three queues every second. Full memtables: half the threads, a larger memtable. L0 above its trigger: two
# more threads. Pending bytes above the soft limit: two more threads, half the memtable.

# %%
STORE = [
    "device=sata",
    "workload.num=1M",
    "workload.value_size=400",
    "workload.duration=60s",
    "device.write_cap=60MB/s",
    "device.read_cap=60MB/s",
    "engine.options.write_buffer_size=4MiB",
    "engine.options.target_file_size_base=4MiB",
    "engine.options.max_bytes_for_level_base=16MiB",
]
ENGINES = {"without a tuner": "tuner=none", "threads alone": "adoc_t", "batch alone": "adoc_b", "both": "adoc"}
tuned = {
    name: lsmlab.run(
        [f"engine={entry}", *STORE] if "tuner" not in entry else ["engine=adoc", "engine/tuner=none", *STORE],
        progress=False,
    )
    for name, entry in ENGINES.items()
}
base = tuned["without a tuner"]
gain = tuned["both"].summary["ops_per_s"] / base.summary["ops_per_s"]

# %% [markdown]
# On a capped SATA drive with memtables of {{ 4194304 | size }} the store does {{ base.ops_per_s | count }} writes per
# second in a closed loop, with a write amplification of {{ base.write_amplification | ratio }}.

# %%
course.predict(
    "tuner",
    "How many times the throughput of the store without a tuner does the store with ADOC reach?",
    unit="times",
    guess=None,
)

# %%
assert tuned["threads alone"].summary["ops_per_s"] < 1.3 * base.summary["ops_per_s"]
assert gain > 2
course.reveal("tuner", gain, form="ratio")

# %%
course.bars(
    {name: run.summary["ops_per_s"] for name, run in tuned.items()},
    title="Throughput by what the tuner may change",
    unit="writes / s",
    caption="Writes per second of the whole run, without a tuner, with each of its two knobs, and with both.",
)

# %%
course.bars(
    {name: run.summary["longest_stall_s"] for name, run in tuned.items()},
    title="Longest stall",
    unit="s",
    caption="The longest time for which writers were held back, by what the tuner may change.",
)

# %% [markdown]
# ## Why
#
# The batch grows to its limit, and write amplification falls from {{ base.write_amplification | ratio }} to
# {{ tuned["both"].write_amplification | ratio }}, so the batch alone does about as much as both. Threads alone help
# little on a drive that is the bottleneck: {{ tuned["threads alone"].ops_per_s / base.ops_per_s | ratio }} times the rate.
# The price is the lesson on memtables again: the longest stall grows from {{ base.longest_stall_s | seconds }} to
# {{ tuned["both"].longest_stall_s | seconds }}, because it waits for a flush of a large memtable. And in this short run much
# of the work is not done but left for later: files take {{ tuned["both"].space_amplification | ratio }} bytes per live byte,
# {{ base.space_amplification | ratio }} without a tuner.
