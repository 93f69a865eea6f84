# ---
# title: Write stalls and the throttle ladder
# aim: You learn the states free, delay and stop, how the delayed write rate goes up and down, and at which load P99 breaks.
# invariants:
#   - Three queues hold writers back; these are full memtables, files of L0, and pending compaction bytes.
#   - The state is recomputed when a memtable switches or a job commits, never by a timer.
#   - A store can take in the long run what its compactions can digest, whatever its buffers are.
# ---

# %% [markdown]
# ## The picture
#
# | queue | delay | stop |
# |---|---|---|
# | immutable memtables | only with more than three memtables | all of them full |
# | files of L0 | level0_slowdown_writes_trigger | level0_stop_writes_trigger |
# | pending compaction bytes | soft limit | hard limit |
#
# In the state *delay* writers share a rate. If the debt has not fallen at the next recompute, the rate falls by a fifth;
# near a stop by two fifths; if the debt has fallen, the rate rises by a quarter. This is the ladder.

# %%
import lsmlab
from lsmlab import course

RATES = [8_000, 12_000, 16_000, 20_000]
STORE = [
    "device=sata",
    "device.write_cap=40MB/s",
    "device.read_cap=40MB/s",
    "engine.options.write_buffer_size=4MiB",
    "engine.options.target_file_size_base=4MiB",
    "engine.options.max_bytes_for_level_base=16MiB",
    "engine.options.level_compaction_dynamic_level_bytes=false",
    "workload.num=2M",
    "workload.value_size=400",
    "workload.duration=60s",
]
OPEN_LOOP = ["workload=constant", "workload.read=0", "workload.update=0", "workload.insert=1", "workload.preload=0"]
runs = {rate: lsmlab.run([*OPEN_LOOP, *STORE, f"workload.rate={rate}"], progress=False) for rate in RATES}
last = runs[RATES[-1]]
start = 16 * 1024 * 1024

# %% [markdown]
# A drive is capped at {{ 40000000 | rate }}. Writes arrive at a constant rate, whatever the store does: an open loop.

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
course.reveal("p99", [run.summary["write_latency_s"]["p99"] for run in runs.values()], form="seconds")

# %%
course.figure(last.plot.l0(), "The highest rate: L0 files against the triggers for compaction, slowdown and stop.")

# %%
course.figure(last.plot.queue(), "The highest rate: writes that have arrived and wait.")

# %% [markdown]
# ## Why it breaks so suddenly
#
# Up to {{ RATES[2] | count }} writes per second P99 is {{ runs[16000].write_latency_s.p99 | seconds }}, and nothing tells
# that the device is {{ runs[16000].device.utilisation | percent }} busy. At {{ RATES[3] | count }} it is
# {{ last.write_latency_s.p99 | seconds }}: L0 grows faster than compactions empty it, the store delays its writers for
# {{ last.stall_fraction | percent }} of the time, and everybody who arrives meanwhile waits in a queue. Below its limit
# a store absorbs bursts; above it every buffer only postpones the stall.
#
# ## The ladder

# %%
course.predict(
    "steps",
    "The delayed write rate starts at 16 MiB/s. After how many memtable switches without less debt is it below 2 MiB/s?",
    unit="switches",
    guess=None,
)

# %%
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
# After ten steps {{ delayed_write_rate(start, 10) | size }} per second are left of {{ start | size }}. The way up is slower
# than it looks: a rise by a quarter only makes up for one fall by a fifth. Many small compactions climb and fall faster than
# few large ones, because each commit is one recompute.
#
# In a **closed loop** the same store would show a harmless P99, because each client has only one write under way. What
# users see is the open loop.
