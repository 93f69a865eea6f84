# ---
# title: Scheduling and tuning with SILK and ADOC
# aim: You learn what another order of the same jobs can change, what larger batches and more threads can, and what neither can.
# invariants:
#   - SILK does not change the tree; it runs flushes first, compactions of L0 second, deep compactions when clients
#     are quiet.[^silk]
#   - ADOC does not change the order; it changes the number of threads and the size of memtables and files while the
#     store runs.[^adoc]
#   - The work of a peak and a valley together has to fit into the bandwidth that clients leave in both.[^fit]
# notes:
#   silk: >-
#     SILK (Balmau et al., USENIX ATC 2019), section 5 (behaviour/silk.md, SILK rules).
#   adoc: >-
#     ADOC (Yu et al., USENIX FAST 2023), section 5 (background/adoc.md, What the paper's tuner does). L1's target
#     follows the memtables, and the others follow L1 (background/adoc.md, The effect on the targets).
#   fit: >-
#     Arithmetic (background/silk.md, Arithmetic).
#   rocksdb: >-
#     RocksDB 8.11, `DBImpl::MaybeScheduleFlushOrCompaction` starts a compaction whenever one is due and a slot is free
#     (behaviour/jobs-and-threads.md, Scheduling).
#   shares: >-
#     Run: `assert max(alone) < longest["RocksDB"] / 3`: the flushes beside which no compaction ran.
#   faster: >-
#     Run: `assert longest["SILK"] < 0.7 * longest["RocksDB"]`.
#   later: >-
#     Run: `assert written(silk) < written(plain)` and `assert pending(silk) > pending(plain)`: SILK compacted less,
#     and more is due on average.
#   grows: >-
#     Run: `assert due[5]["SILK"][-1] > due[5]["RocksDB"][-1] > 0` and
#     `assert due[5]["SILK"][-1] > 1.2 * due[5]["SILK"][40]` for the shortest valleys. That SILK then stalls as well is
#     the paper's endless peak, section 6, and this project's run of it (background/silk.md, Against the paper).
#   rules: >-
#     ADOC, section 5: of several overflows the first in the order L0, pending bytes, memtables acts
#     (background/adoc.md, What the paper's tuner does; Assumptions).
#   threads: >-
#     Run: `assert tuned["threads alone"].summary["ops_per_s"] < 1.3 * base.summary["ops_per_s"]`.
#   gain: >-
#     Run: `assert 1.5 < gain < 3` and `assert abs(both / alone_batch - 1) < 0.1`.
#   cause: >-
#     Run: `assert longest_stop(tuned["both"]) > 0.9 * tuned["both"].summary["longest_stall_s"]`, the longest stop by
#     memtables.
#   left: >-
#     Run: `assert tuned["both"].series["pending_bytes"].iloc[-1] > base.series["pending_bytes"].iloc[-1]`, and
#     space_amplification.
#   end: >-
#     Run: `assert rates["600 s"]["ADOC"] < 0.75 * rates["120 s"]["ADOC"]`.
# ---

# %% [markdown]
# ## The picture
#
# Clients come in peaks and valleys. RocksDB compacts as soon as there is work, in peaks too,[^rocksdb] so flushes
# share the device with compactions just when they are needed most. SILK does the same jobs in another order: it gives
# the deep compactions what clients leave, so they wait for the valley.[^silk] In the figure flushes follow the
# clients, they show the peaks.

# %%
import lsmlab
from lsmlab import course

PEAKS = [
    "engine=silk", "device=nvme", "device.write_cap=40MB/s", "workload=peaks_valleys",
    "engine.options.write_buffer_size=4MiB", "engine.options.target_file_size_base=4MiB",
    "engine.options.max_bytes_for_level_base=16MiB", "engine.options.use_direct_reads=true",
    "engine.options.use_direct_io_for_flush_and_compaction=true", "engine.options.rate_limiter_refill_period_us=10000",
    "workload.value_size=1000", "workload.num=1M", "workload.duration=80s", "workload.peak_rate=8000",
    "workload.valley_rate=500", "workload.peak=20s",
]  # fmt: skip
SCALED = [
    "engine.scheduler.total_bandwidth=40MB/s",
    "engine.scheduler.least_bandwidth=10MB/s",
    "engine.scheduler.slack=1MB/s",
    "engine.scheduler.hysteresis=2MB/s",
    "engine.scheduler.chunk=1MiB",
    "engine.scheduler.measures=user",  # as the cap, which counts writes alone
    "engine.scheduler.limit_reads=false",
]


def with_valleys(length_s):
    """Run both schedulers with valleys of this length."""
    valley = f"workload.valley={length_s}s"
    return {
        "RocksDB": lsmlab.run([*PEAKS, valley, "engine/scheduler=rocksdb"], progress=False),
        "SILK": lsmlab.run([*PEAKS, valley, *SCALED], progress=False),
    }


def flushes(run):
    """Return the durations of a run's flushes in s."""
    jobs = run.jobs[run.jobs["kind"] == "flush"]
    return (jobs["end_s"] - jobs["start_s"]).tolist()


def undisturbed(run):
    """Return the durations in s of flushes beside which no compaction ran."""
    jobs = run.jobs[run.jobs["kind"] == "flush"]
    others = run.jobs[run.jobs["kind"] == "compaction"]
    return [
        end - start
        for start, end in zip(jobs["start_s"], jobs["end_s"], strict=True)
        if not ((others["start_s"] < end) & (others["end_s"] > start)).any()
    ]


def megabytes(run, consumer):
    """Return the times in s, and the MB that a consumer of the device writes in each second."""
    return run.series["t_s"].tolist(), (run.series[f"write_bytes_{consumer}_per_s"] / 1e6).tolist()


def written(run):
    """Return the bytes that compactions wrote."""
    return run.summary["compaction_write_bytes"]


def pending(run):
    """Return the mean of the pending compaction bytes."""
    return run.series["pending_bytes"].mean()


plain, silk = with_valleys(20).values()
longest = {"RocksDB": max(flushes(plain)), "SILK": max(flushes(silk))}
shortest = {"RocksDB": min(flushes(plain)), "SILK": min(flushes(silk))}
alone = undisturbed(plain)
assert max(alone) < longest["RocksDB"] / 3
course.lines(
    {
        "flushes of RocksDB": megabytes(plain, "flush"),
        "RocksDB, deep compactions": megabytes(plain, "deeper"),
        "SILK, deep compactions": megabytes(silk, "deeper"),
    },
    title="Written in peaks and valleys",
    x="time (s)",
    y="MB / s",
    caption="Bytes that flushes, and compactions of L1 and deeper levels, write in each second.",
)

# %% [markdown]
# With RocksDB's scheduler the shortest flush of this store takes {{ shortest["RocksDB"] | seconds }}, the longest
# {{ longest["RocksDB"] | seconds }}, because it shares the device with compactions.[^shares] All flushes write one
# memtable.

# %%
course.predict("flush", "How long is the longest flush with SILK?", unit="s", guess=None)

# %%
assert longest["SILK"] < 0.7 * longest["RocksDB"]
assert written(silk) < written(plain)
assert pending(silk) > pending(plain)
written_silk, written_plain = written(silk), written(plain)
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
# SILK's flushes take {{ shortest["SILK"] | seconds }} to {{ longest["SILK"] | seconds }}:[^faster] a constant pace,
# so a writer can rely on the next free memtable. SILK did not do the work faster; it did it later. Over these peaks
# its compactions wrote {{ written_silk | size }} and RocksDB's {{ written_plain | size }}, and more is due.[^later]
# What is put off has to fit into the valleys.[^fit] Move the slider: with short valleys the debt grows from peak to
# peak, faster with SILK, and a store whose debt grows for ever stalls in the end, whatever the order of its
# jobs.[^grows]

# %%
valleys = {5: with_valleys(5), 20: {"RocksDB": plain, "SILK": silk}, 40: with_valleys(40)}
due = {
    length: {name: (run.series["pending_bytes"] / 2**20).tolist() for name, run in both.items()}
    for length, both in valleys.items()
}
assert due[5]["SILK"][-1] > due[5]["RocksDB"][-1] > 0
assert due[5]["SILK"][-1] > 1.2 * due[5]["SILK"][40]
course.slider(
    {
        f"{length} s": course.lines(
            {name: (plain.series["t_s"].tolist(), values) for name, values in both.items()},
            title="", caption="", x="time (s)", y="MiB",
        )
        for length, both in due.items()
    },
    title="Pending compaction bytes by the length of the valleys",
    label="valleys",
    start=1,
    caption="Bytes that compactions have to rewrite until all levels are within their targets. Peaks have 20 s.",
)  # fmt: skip

# %% [markdown]
# ## ADOC: change the batch
#
# ADOC looks at three queues every second, and the first that is too long decides. L0 at its slowdown trigger: two
# more threads. Pending bytes at the soft limit: two more threads, half the memtable. A memtable that filled up before
# the other one was flushed: half the threads, a larger memtable.[^rules]

# %%
STORE = [
    "device=sata", "device.write_cap=60MB/s", "device.read_cap=60MB/s", "workload.num=20M", "workload.value_size=400",
]  # fmt: skip
ENGINES = {
    "without a tuner": ["engine=adoc", "engine/tuner=none"],
    "threads alone": ["engine=adoc_t"],
    "batch alone": ["engine=adoc_b"],
    "both": ["engine=adoc"],
}


def filled(name, duration_s):
    """Run the store with a tuner from its beginning."""
    return lsmlab.run([*ENGINES[name], *STORE, f"workload.duration={duration_s}s"], progress=False)


def longest_stop(run):
    """Return the longest stop by full memtables in s."""
    stops = run.stalls[run.stalls["cause"] == "memtable_stop"]
    return (stops["end_s"] - stops["start_s"]).max()


tuned = {name: filled(name, 300) for name in ENGINES}
base = tuned["without a tuner"]
both, alone_batch = (tuned[name].summary["ops_per_s"] for name in ("both", "batch alone"))
gain = both / base.summary["ops_per_s"]

# %% [markdown]
# A store on a SATA drive capped at {{ 60000000 | rate }}, with the default memtables of {{ 64 * 2 ** 20 | size }}, is
# filled in a closed loop for five minutes from empty. It does {{ base.ops_per_s | count }} writes per second, with a
# write amplification of {{ base.write_amplification | ratio }}.

# %%
course.predict(
    "tuner",
    "How many times the throughput of the store without a tuner does the store with ADOC reach in these five minutes?",
    unit="times",
    guess=None,
)

# %%
assert tuned["threads alone"].summary["ops_per_s"] < 1.3 * base.summary["ops_per_s"]
assert 1.5 < gain < 3
assert abs(both / alone_batch - 1) < 0.1
assert longest_stop(tuned["both"]) > 0.9 * tuned["both"].summary["longest_stall_s"]
assert tuned["both"].series["pending_bytes"].iloc[-1] > base.series["pending_bytes"].iloc[-1]
course.reveal("tuner", gain, form="ratio")

# %%
course.bars(
    {name: run.summary["ops_per_s"] for name, run in tuned.items()},
    title="Throughput by what the tuner may change",
    unit="writes / s",
    caption="Writes per second over five minutes from empty, without a tuner, with each of its two knobs, and with both.",
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
# The batch grows, and write amplification falls from {{ base.write_amplification | ratio }} to
# {{ tuned["both"].write_amplification | ratio }}. The batch alone does about as much as both.[^gain] Threads alone
# help little on a drive that is the bottleneck: {{ tuned["threads alone"].ops_per_s / base.ops_per_s | ratio }} times
# the rate.[^threads]
#
# The price is the lesson on memtables again: the longest stall grows from {{ base.longest_stall_s | seconds }} to
# {{ tuned["both"].longest_stall_s | seconds }}, because it waits for a flush of a large memtable.[^cause] And much of
# the work is not done but left for later: files take {{ tuned["both"].space_amplification | ratio }} bytes per live
# byte, {{ base.space_amplification | ratio }} without a tuner.[^left] So the numbers of five minutes are those of a
# beginning. The slider shows what is left of them when the store grows.

# %%
rates = {
    f"{duration} s": {
        "without a tuner": (base if duration == 300 else filled("without a tuner", duration)).summary["ops_per_s"],
        "ADOC": (tuned["both"] if duration == 300 else filled("both", duration)).summary["ops_per_s"],
    }
    for duration in (120, 300, 600)
}
assert rates["600 s"]["ADOC"] < 0.75 * rates["120 s"]["ADOC"]
course.slider(
    {name: course.bars(row, title="", caption="", unit="writes / s") for name, row in rates.items()},
    title="Throughput by the length of the run",
    label="length",
    start=1,
    caption="Writes per second of the whole run, from an empty store on.",
)

# %% [markdown]
# Both stores become slower as they grow, and neither is settled after ten minutes.[^end] A tuner can choose when the
# work is done and how large its steps are. It cannot make the work go away.
