# ---
# title: Memtable and flush
# aim: You learn to calculate when memtables fill, how long writers wait for a flush, and why larger memtables do not cure stops.
# invariants:
#   - With two memtables, writers stop when one is full and the other one is not flushed yet.[^stop]
#   - A flush writes one file of level L0, and the file counts only when its flush has been committed.[^commit]
#   - Who waits for a flush waits until the device has written all of its bytes, so a larger memtable means a longer
#     wait.[^larger]
# notes:
#   stop: >-
#     RocksDB 8.11, `ColumnFamilyData::GetWriteStallConditionAndCause`: as many immutable memtables as
#     max_write_buffer_number stop the writers (behaviour/write-stalls.md, Stall conditions). The full memtable has
#     become immutable by then, and an empty third one waits for the end of the stop.
#   commit: >-
#     RocksDB 8.11, `MemTableList::PickMemtablesToFlush`, and the commit in one MANIFEST write; a flush that was kept
#     waiting takes several memtables into its file (behaviour/flush.md, Flush requests and picking; Commit order).
#   larger: >-
#     Run: `assert closed[16].summary["write_latency_s"]["max"] > 2 * closed[1].summary["write_latency_s"]["max"]`.
#   compaction: >-
#     Run: `assert stops["start_s"].min() > compactions["start_s"].min()`.
#   full: >-
#     RocksDB 8.11, `MemTable::ShouldFlushNow`; an entry also holds its sequence number, lengths, pointers of the skip
#     list and padding (behaviour/write-path.md, Bytes of a put; When a memtable is full).
#   calm: >-
#     Run: `assert calm.summary["stalls"] == 0`.
#   closed: >-
#     The closed loop of db_bench, one thread: `workload=fillrandom`, the default of a run
#     (behaviour/db-bench.md, Benchmarks).
#   fewer: >-
#     Run: `assert closed[16].summary["compaction_count"] < closed[1].summary["compaction_count"]`, and
#     write_amplification of both.
#   cause: >-
#     Run: `assert longest_stop_s > 0.95 * closed[16].summary["write_latency_s"]["max"]`: the longest write is the
#     longest stop by memtables.
#   behind: >-
#     Run: live_bytes and space_amplification of both runs. Neither store is settled after half a minute from empty.
#   small: >-
#     Run: `assert longest_stop(drives[10][1], "l0_stop") > longest[10][16]`, at 10 MB/s.
#   rates: >-
#     Run: `assert longest[10][16] > 4 * longest[80][16]`.
# ---

# %% [markdown]
# ## The picture
#
# Writes go into a memtable in memory, at the speed of memory. The device meets them later, when the memtable is full
# and its flush writes it as a file of L0. So that writes can go on meanwhile, there is a second memtable. As long as
# a flush is over before the other memtable is full, no writer notices it. The picture shows a store in which this
# does not hold for long: when the first compaction takes its share of the device, flushes become slower, both
# memtables are full, and the writers stop.[^compaction]

# %%
import lsmlab
from lsmlab import course
from lsmlab.models.units import parse_quantity

RATE, VALUE_BYTES, ENTRY_BYTES = 10_000, 400, 416
CAP = ["device.write_cap=40MB/s", "device.read_cap=40MB/s"]
STORE = ["device=sata", f"workload.value_size={VALUE_BYTES}", "workload.num=2M"]
OPEN_LOOP = ["workload=constant", "workload.read=0", "workload.update=0", "workload.insert=1", "workload.preload=0"]
calm = lsmlab.run(
    [*OPEN_LOOP, *STORE, *CAP, f"workload.rate={RATE}", "workload.duration=20s", "engine.options.write_buffer_size=4MiB"],
    progress=False,
)
memtable = parse_quantity("4MiB", "bytes")
busy = lsmlab.run(
    [*OPEN_LOOP, *STORE, "device.write_cap=20MB/s", "workload.rate=30000", "workload.duration=5s",
     "engine.options.write_buffer_size=8MiB"],
    progress=False,
)  # fmt: skip
stops = busy.stalls[busy.stalls["cause"] == "memtable_stop"]
compactions = busy.jobs[busy.jobs["kind"] == "compaction"]
assert stops["start_s"].min() > compactions["start_s"].min()
course.memtables(
    busy,
    "What the two memtables of a busy store do over time: one takes writes while the other is flushed. When both are full, the "
    "writers are stopped.",
)

# %% [markdown]
# Now a calmer store: {{ RATE | count }} writes per second arrive, each with a key of {{ ENTRY_BYTES - VALUE_BYTES }} bytes
# and a value of {{ VALUE_BYTES }} bytes. The memtable has {{ memtable | size }}.

# %%
course.predict("interval", "How many seconds pass between two flushes?", unit="s", guess=None)

# %%
starts = calm.jobs.loc[calm.jobs["kind"] == "flush", "start_s"]
interval_s = starts.diff().mean()
assert calm.summary["stalls"] == 0
course.reveal("interval", interval_s, form="seconds")

# %% [markdown]
# Divided by the incoming bytes, the memtable lasts {{ memtable / (RATE * ENTRY_BYTES) | seconds }}. The store flushes
# every {{ interval_s | seconds }}, because an entry takes more room in memory than its key and its value, and because
# the memtable counts as full before its last block is.[^full] A flush writes
# {{ calm.flush_bytes / calm.flush_count | size }}, so at the cap of {{ 40000000 | rate }} it needs about
# {{ calm.flush_bytes / calm.flush_count / 40000000 | seconds }} if it has the device to itself. Flushing is faster
# than filling, and the {{ calm.flush_count }} flushes of this run never stopped a writer.[^calm]
#
# ## A client that does not wait for a clock
#
# The writes above came at given times, in an **open loop**. Now the client sends its next write as soon as the last
# one has returned, in a **closed loop**.[^closed] It fills memtables faster than any flush can empty them, so it has
# to wait for flushes. How long it waits at a time depends on the size of a memtable.

# %%
SIZES_MIB = [1, 4, 16]
HALF_MINUTE = "workload.duration=30s"


def longest_stop(run, cause):
    """Return the longest stop of a cause in s."""
    stops = run.stalls[run.stalls["cause"] == cause]
    return (stops["end_s"] - stops["start_s"]).max()


closed = {
    size: lsmlab.run([*STORE, *CAP, HALF_MINUTE, f"engine.options.write_buffer_size={size}MiB"], progress=False)
    for size in SIZES_MIB
}

# %%
course.predict(
    "stops",
    "How long is the longest write with each size of the memtable, on the drive capped at 40 MB/s?",
    unit="s",
    points=SIZES_MIB,
    axis="write_buffer_size (MiB)",
    guess=None,
)

# %%
longest_stop_s = longest_stop(closed[16], "memtable_stop")
assert closed[16].summary["write_latency_s"]["max"] > 2 * closed[1].summary["write_latency_s"]["max"]
assert longest_stop_s > 0.95 * closed[16].summary["write_latency_s"]["max"]
assert closed[16].summary["compaction_count"] < closed[1].summary["compaction_count"]
course.reveal("stops", [run.summary["write_latency_s"]["max"] for run in closed.values()], form="seconds")

# %%
course.bars(
    {f"{size} MiB": run.summary["ops_per_s"] for size, run in closed.items()},
    title="Throughput by size of the memtable",
    caption="Writes per second of the whole run, half a minute from an empty store, one bar for each size.",
    unit="writes / s",
)

# %% [markdown]
# ## Why
#
# The longest write grows from {{ closed[1].write_latency_s.max | seconds }} with the smallest to
# {{ closed[16].write_latency_s.max | seconds }} with the largest memtable. It is a stop by full memtables,[^cause]
# and who waits for a flush waits for all of its bytes. A larger memtable makes stops rarer and longer; it does not
# end them.
#
# What does it gain? Throughput rises {{ closed[16].ops_per_s / closed[1].ops_per_s | ratio }} times, because there
# are fewer and larger compactions, which write less: write amplification falls from
# {{ closed[1].write_amplification | ratio }} to {{ closed[16].write_amplification | ratio }}.[^fewer] Part of this is
# lasting, part is work that half a minute is too short to see: the store with the large memtables has
# {{ closed[16].space_amplification | ratio }} bytes in files per live byte, and the other one
# {{ closed[1].space_amplification | ratio }}.[^behind]
#
# The wait is bytes divided by bandwidth.[^rates] Move the slider to another drive.

# %%
CAPS_MB = [10, 20, 40, 80]
drives = {
    cap: {
        size: lsmlab.run(
            [*STORE, HALF_MINUTE, f"device.write_cap={cap}MB/s", f"device.read_cap={cap}MB/s",
             f"engine.options.write_buffer_size={size}MiB"],
            progress=False,
        )
        for size in SIZES_MIB
    }
    for cap in CAPS_MB
}  # fmt: skip
longest = {cap: {size: longest_stop(run, "memtable_stop") for size, run in row.items()} for cap, row in drives.items()}
assert longest[10][16] > 4 * longest[80][16]
assert longest_stop(drives[10][1], "l0_stop") > longest[10][16]
course.slider(
    {
        f"{cap} MB/s": course.bars({f"{size} MiB": s for size, s in row.items()}, title="", caption="", unit="s")
        for cap, row in longest.items()
    },
    title="Longest wait for a flush by size of the memtable and speed of the drive",
    label="drive",
    start=2,
    caption="The longest stop by full memtables in half a minute of a closed loop, by write_buffer_size; the slider changes the "
    "drive's cap.",
)

# %% [markdown]
# A drive of an eighth of the speed makes the longest wait for the largest memtable more than four times as long.[^rates]
# With the smallest memtable and a slow drive, another wait is longer than all of these: L0 fills with small files,
# until it stops the writers too.[^small] The lesson on write stalls comes back to it.
