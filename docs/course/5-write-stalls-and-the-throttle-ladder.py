# ---
# title: Write stalls and the throttle ladder
# aim: You learn the states free, delay and stop, how the delayed write rate goes up and down, and at which load P99 breaks.
# invariants:
#   - Three queues hold writers back; these are full memtables, files of L0, and pending compaction bytes.[^states]
#   - The state is recomputed when a memtable is switched, a flush or a compaction commits, or an option changes, never by a
#     timer.[^recompute]
#   - In the long run a store takes no more than its compactions can digest, whatever its buffers are.[^digest]
# notes:
#   states: >-
#     RocksDB 8.11, `ColumnFamilyData::GetWriteStallConditionAndCause` (behaviour/write-stalls.md, Stall conditions).
#   recompute: >-
#     RocksDB 8.11, `ColumnFamilyData::RecalculateWriteStallConditions`, called where a SuperVersion is installed
#     (behaviour/write-stalls.md, When the condition is recomputed).
#   digest: >-
#     Run: `assert longer.summary["ops_per_s"] < RATES[-1]`: the highest rate over ten minutes.
#   limits: >-
#     RocksDB 8.11, defaults of 20 and 36 files, 64 and 256 GiB (behaviour/options.md, Defaults).
#   ladder: >-
#     RocksDB 8.11, `SetupDelay` (behaviour/write-stalls.md, Delayed write rate). Debt are the pending compaction
#     bytes; without any, the rate stays.
#   before: >-
#     Run: `assert runs[16000].summary["write_latency_s"]["p99"] < 0.001 < 1 < last.summary["write_latency_s"]["p99"]`.
#   behind: >-
#     Run: `assert max(last.summary["stall_seconds"], key=last.summary["stall_seconds"].get) == "l0_slowdown"`.
#   start: >-
#     RocksDB 8.11, delayed_write_rate: 16 MiB/s unless it is set or there is a rate limiter
#     (behaviour/write-stalls.md, Delayed write rate).
#   up: >-
#     Arithmetic: 0.8 x 1.25 = 1, and 0.6 x 1.25 x 1.25 = 0.94. Run:
#     `assert abs(course.formula("delayed_write_rate", start, 1) * 1.25 - start) < 1`.
#   free: >-
#     RocksDB 8.11, `RecalculateWriteStallConditions` (behaviour/write-stalls.md, Delayed write rate).
#   small: >-
#     RocksDB 8.11, one recompute for each commit (behaviour/write-stalls.md, When the condition is recomputed).
#   closed: >-
#     Run: `assert closed.summary["write_latency_s"]["p99"] < 0.01` and `assert closed.summary["stall_fraction"] > 0.5`.
#   sleeps: >-
#     RocksDB 8.11, `WriteController::GetDelay`, `DBImpl::DelayWrite` sleep in steps of a millisecond
#     (behaviour/write-stalls.md, Sleeps and stops).
# ---

# %% [markdown]
# ## The picture
#
# Flushes and compactions work in the background. When they fall behind, the store holds its writers back. It looks at
# three queues, and each has two limits: from the first one on writers are *delayed*, from the second one on they are
# *stopped*.[^states]
#
# | queue | delay | stop |
# |---|---|---|
# | immutable memtables | next to last one, only with more than three memtables | all of them full[^states] |
# | files of L0 | level0_slowdown_writes_trigger | level0_stop_writes_trigger[^limits] |
# | pending compaction bytes | soft limit | hard limit[^limits] |
#
# In the state *delay* all writers share a rate. Each time that the state is recomputed, the rate changes. If the debt
# has not fallen, the rate falls by a fifth; near a stop by two fifths. If the debt has fallen, the rate rises by a
# quarter. This is the ladder.[^ladder]

# %%
import lsmlab
from lsmlab import course

RATES = [8_000, 12_000, 16_000, 20_000]
STORE = [
    "device=sata", "device.write_cap=40MB/s", "device.read_cap=40MB/s", "engine.options.write_buffer_size=4MiB",
    "engine.options.target_file_size_base=4MiB", "engine.options.max_bytes_for_level_base=16MiB",
    "engine.options.level_compaction_dynamic_level_bytes=false", "workload.num=2M", "workload.value_size=400",
    "workload.duration=60s",
]  # fmt: skip
OPEN_LOOP = ["workload=constant", "workload.read=0", "workload.update=0", "workload.insert=1", "workload.preload=0"]


def sent(rate, *more):
    """Run the store with a rate of writes per second in an open loop."""
    return lsmlab.run([*OPEN_LOOP, *STORE, f"workload.rate={rate}", *more], progress=False)


runs = {rate: sent(rate) for rate in RATES}
last = runs[RATES[-1]]
closed = lsmlab.run(STORE, progress=False)
longer = sent(RATES[-1], "workload.num=20M", "workload.duration=600s")
start = 16 * 1024 * 1024

# %% [markdown]
# A drive is capped at {{ 40000000 | rate }}. Writes arrive at a constant rate, whatever the store does: an open loop.
# The store begins empty, and each run lasts a minute.

# %%
course.predict(
    "p99",
    "What is the P99 latency of the writes at each rate?",
    unit="s",
    points=RATES,
    axis="writes / s",
    logarithmic=True,
    guess=None,
)

# %%
assert runs[16000].summary["write_latency_s"]["p99"] < 0.001 < 1 < last.summary["write_latency_s"]["p99"]
assert max(last.summary["stall_seconds"], key=last.summary["stall_seconds"].get) == "l0_slowdown"
assert closed.summary["write_latency_s"]["p99"] < 0.01
assert closed.summary["stall_fraction"] > 0.5
assert longer.summary["ops_per_s"] < RATES[-1]
course.reveal("p99", [run.summary["write_latency_s"]["p99"] for run in runs.values()], form="seconds")

# %%
course.figure(last.plot.l0(), "The highest rate: L0 files against the triggers for compaction, slowdown and stop.")

# %%
course.figure(last.plot.queue(), "The highest rate: writes that have arrived and wait.")

# %% [markdown]
# ## Why it breaks so suddenly
#
# Up to {{ RATES[2] | count }} writes per second P99 is {{ runs[16000].write_latency_s.p99 | seconds }},[^before] and
# nothing tells that the device is {{ runs[16000].device.utilisation | percent }} busy. At {{ RATES[3] | count }} it
# is {{ last.write_latency_s.p99 | seconds }}: L0 grows faster than compactions empty it,[^behind] the store holds its
# writers back for {{ last.stall_fraction | percent }} of the time, and everybody who arrives meanwhile waits in a
# queue. Below its limit a store absorbs bursts; above it every buffer only postpones the stall. Over ten minutes the
# same store takes {{ longer.ops_per_s | count }} of the {{ RATES[3] | count }} writes per second, and the queue grows
# without end.[^digest] The slider shows L0 at rates in between.

# %%
near = {rate: runs.get(rate) or sent(rate) for rate in (12_000, 16_000, 18_000, 19_000, 20_000, 22_000, 24_000)}
course.slider(
    {
        f"{rate:,}": course.lines(
            {
                "files in L0": (run.series["t_s"].tolist(), run.series["l0_files"].tolist()),
                "slowdown trigger": ([0, 60], [20, 20]),
                "stop trigger": ([0, 60], [36, 36]),
            },
            title="", caption="", x="time (s)", y="files",
        )
        for rate, run in near.items()
    },
    title="Files in L0 by rate",
    label="writes / s",
    start=2,
    caption="Files in L0 in each second of the first minute.",
)  # fmt: skip

# %% [markdown]
# ## The ladder
#
# The delayed write rate begins at {{ start | size }} per second, unless it is set.[^start]

# %%
course.predict(
    "steps",
    "The delayed write rate starts at 16 MiB/s. After how many memtable switches without less debt is it below 2 MiB/s?",
    unit="switches",
    guess=None,
)

# %%
assert abs(course.formula("delayed_write_rate", start, 1) * 1.25 - start) < 1
course.reveal("steps", course.formula("steps_to_rate", start, start / 8), form="count")

# %%
steps = list(range(16))
course.lines(
    {
        "no less debt": (steps, [course.formula("delayed_write_rate", start, s) / 2**20 for s in steps]),
        "near a stop": (steps, [course.formula("delayed_write_rate", start, 0, s) / 2**20 for s in steps]),
    },
    title="The delayed write rate",
    x="recomputes",
    y="MiB / s",
    caption="Each recompute lowers the rate by a fifth, near a stop by two fifths.",
)

# %% [markdown]
# After ten steps {{ delayed_write_rate(start, 10) | size }} per second are left of {{ start | size }}. The way up has
# the same steps: a rise by a quarter makes up for exactly one fall by a fifth. Only a fall near a stop needs more
# than two rises.[^up] When the delay ends, the rate rises once more, by two fifths, and the next delay begins with
# what is left: the rate is never reset.[^free] Many small compactions climb and fall faster than few large ones,
# because each commit is one recompute.[^small]
#
# ## What a closed loop hides
#
# In a closed loop the same store shows a P99 of {{ closed.write_latency_s.p99 | seconds }}, although it holds its
# writer back for {{ closed.stall_fraction | percent }} of the time.[^closed] The client has only one write under way,
# so a stop hits one write, however long it lasts, and a delay is spread over writes in steps of a
# millisecond.[^sleeps] Users do not wait for each other: what they see is the open loop.
