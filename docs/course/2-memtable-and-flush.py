# ---
# title: Memtable and flush
# aim: You learn to calculate when memtables fill, how long writers wait for a flush, and why larger memtables do not cure stops.
# invariants:
#   - With two memtables, writers stop when one is full and the other is not flushed yet.
#   - A flush writes one file of level L0, and the file is counted only when its flush has been committed.
#   - Bytes wait for a flush as long as the device takes for all of them, so a larger memtable means a longer wait.
# ---

# %% [markdown]
# ## The picture
#
# One memtable takes writes, another one waits for its flush. The flush turns the waiting memtable into a file of L0.

# %%
import lsmlab
from lsmlab import course
from lsmlab.models.units import parse_quantity

RATE, VALUE_BYTES, ENTRY_BYTES = 10_000, 400, 416
CAPPED = [
    "device=sata",
    "device.write_cap=40MB/s",
    "device.read_cap=40MB/s",
    f"workload.value_size={VALUE_BYTES}",
    "workload.num=2M",
]
OPEN_LOOP = ["workload=constant", "workload.read=0", "workload.update=0", "workload.insert=1", "workload.preload=0"]
calm = lsmlab.run(
    [*OPEN_LOOP, *CAPPED, f"workload.rate={RATE}", "workload.duration=20s", "engine.options.write_buffer_size=4MiB"],
    progress=False,
)
memtable = parse_quantity("4MiB", "bytes")
busy = lsmlab.run(
    [*OPEN_LOOP, "device=sata", "device.write_cap=20MB/s", "workload.rate=30000", "workload.value_size=400",
     "workload.num=2M", "workload.duration=5s", "engine.options.write_buffer_size=8MiB"],
    progress=False,
)  # fmt: skip
course.memtables(
    busy,
    "What the two memtables of another, busier store do over time: one takes writes while the other is flushed. A flush "
    "beside a compaction is slower; when both memtables are full, the writers are stopped.",
)

# %% [markdown]
# As long as a flush is over before the other memtable is full, no writer notices it. In the picture this holds until
# the first compaction takes its share of the device.
#
# Now a calmer store: {{ RATE | count }} writes per second arrive, each with a key of {{ ENTRY_BYTES - VALUE_BYTES }} bytes
# and a value of {{ VALUE_BYTES }} bytes. The memtable has {{ memtable | size }}.

# %%
course.predict("interval", "How many seconds pass between two flushes?", unit="s", guess=None)

# %%
starts = calm.jobs.loc[calm.jobs["kind"] == "flush", "start_s"]
interval_s = starts.diff().mean()
assert calm.summary["stalls"] == 0  # the text relies on it
course.reveal("interval", interval_s, form="seconds")

# %% [markdown]
# Divided by the incoming bytes, the memtable lasts {{ memtable / (RATE * ENTRY_BYTES) | seconds }}. The store flushes
# every {{ interval_s | seconds }} because a memtable also holds the skip list's pointers and is
# full before its last block is. A flush writes {{ calm.flush_bytes / calm.flush_count | size }}, so at the cap of
# {{ 40000000 | rate }} it needs about {{ calm.flush_bytes / calm.flush_count / 40000000 | seconds }} if it has the device
# to itself. Flushing is faster than filling, and the {{ calm.flush_count }} flushes of this run never stopped a writer.
#
# Now the client does not wait for a clock: it sends its next write as soon as the last one has returned.

# %%
SIZES_MIB = [1, 4, 16]
closed = {
    size: lsmlab.run([*CAPPED, "workload.duration=30s", f"engine.options.write_buffer_size={size}MiB"], progress=False)
    for size in SIZES_MIB
}

# %%
course.predict(
    "stops",
    "How long is the longest write with each size of the memtable, on the same capped drive?",
    unit="s",
    points=SIZES_MIB,
    axis="write_buffer_size (MiB)",
    guess=None,
)

# %%
assert closed[16].summary["write_latency_s"]["max"] > 2 * closed[1].summary["write_latency_s"]["max"]
course.reveal("stops", [run.summary["write_latency_s"]["max"] for run in closed.values()], form="seconds")

# %%
course.bars(
    {f"{size} MiB": run.summary["ops_per_s"] for size, run in closed.items()},
    title="Throughput by size of the memtable",
    caption="Writes per second of the whole run, one bar for each size.",
    unit="writes / s",
)

# %% [markdown]
# ## Why
#
# From the smallest to the largest memtable, throughput rises {{ closed[16].ops_per_s / closed[1].ops_per_s | ratio }} times,
# because fewer and larger compactions write less: write amplification falls from
# {{ closed[1].write_amplification | ratio }} to {{ closed[16].write_amplification | ratio }}. But the longest write grows
# from {{ closed[1].write_latency_s.max | seconds }} to {{ closed[16].write_latency_s.max | seconds }}: who waits for a
# flush waits for all of its bytes. A larger memtable moves stops, it does not end them.
