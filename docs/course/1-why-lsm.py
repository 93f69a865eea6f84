# ---
# title: Why LSM-trees
# aim: You learn why a store writes a value several times although a value written once would do, and what it gains.
# invariants:
#   - A store that updates pages in place has to write a whole page for a small change, as soon as the page leaves
#     memory.[^pages]
#   - An LSM-tree writes its data as sorted files, each from its beginning to its end, and never changes a finished
#     file.[^files]
#   - Whatever is not sorted when it arrives has to be sorted later; this later work is called compaction.[^compaction]
# notes:
#   pages: >-
#     Textbook knowledge of B-trees: O'Neil et al., The Log-Structured Merge-Tree, Acta Informatica 33, 1996, section 1,
#     compares both. A B-tree that gathers many changes of a page in memory writes it once for all of them.
#   files: >-
#     RocksDB 8.11, `db/builder.cc` and `compaction_job.cc`; a finished file is only deleted or, in a trivial move,
#     given to another level (behaviour/leveled-compaction.md, Trivial moves). The write-ahead log is the one file in
#     the order of arrival.
#   compaction: >-
#     O'Neil et al. 1996, section 2, call it the rolling merge.
#   path: >-
#     RocksDB 8.11, `DBImpl::WriteImpl`, `SwitchMemtable`: log first, then memtable
#     (behaviour/write-path.md, Order within a write).
#   newest: >-
#     RocksDB 8.11, `Version::Get` asks memtables, L0 from the newest file on, then one level after the other, and
#     ends at the first entry (behaviour/reads.md, Lookups).
#   base-level: >-
#     RocksDB 8.4 and newer, `VersionStorageInfo::CalculateBaseBytes`: a small store compacts L0 into one of its last levels
#     (behaviour/leveled-compaction.md, Dynamic targets).
#   disk: >-
#     Run: `in_place_per_s = 1 / (2 * access_s)`. Seek and revolution are those of the hard disk of this course
#     (docs/reference/devices.md, Hard disk). It is one client without a queue: with many, a disk can sort its
#     requests by place and do more.
#   faster: >-
#     Run: `assert store.summary["ops_per_s"] > 100 * in_place_per_s`.
#   device: >-
#     Run: device.utilisation in the summary of this run; the time counts in which the disk serves a request,
#     positioning included.
#   transient: >-
#     Run: `assert longer.summary["ops_per_s"] < 0.7 * store.summary["ops_per_s"]`: the same store over five minutes.
#   crossing: >-
#     Run: `assert ways[4000]["LSM-tree"] > 4096 / 4000`, with pages of 4 KiB.
# ---

# %% [markdown]
# ## The picture
#
# A store keeps pairs of a key and a value on a disk. It could keep each pair at a fixed place and overwrite it there.
# An LSM-tree does something that looks like a waste: it writes each value several times. This lesson shows what it
# buys.[^files]
#
# A write goes into a log, the **write-ahead log**, and into a sorted buffer in memory, the **memtable**.[^path] A
# full memtable is written as one file of level L0; this is a **flush**. **Compactions** merge the files of L0 with
# those of a deeper level. Newer versions of a key lie above older ones, so a lookup goes down from the memtable and
# takes the first that it finds.[^newest]

# %%
import lsmlab
from lsmlab import course
from lsmlab.models.units import parse_quantity

VALUE_BYTES = 100
STORE = ["device=hdd", "workload.num=20M", "engine.options.write_buffer_size=4MiB"]
store = lsmlab.run([*STORE, f"workload.value_size={VALUE_BYTES}", "workload.duration=60s"], progress=False)
course.tree(store, "The files of an LSM-tree on a hard disk, one minute after it began empty. A bar is a level.")

# %%
memtable_bytes = parse_quantity("4MiB", "bytes")
course.areas(
    {"memtable": memtable_bytes, **{f"L{row['level']}": row["bytes"] for row in store.summary["levels"] if row["files"]}},
    "The way of a value through this store.",
    between=["flush", *["compaction"] * (sum(1 for row in store.summary["levels"] if row["files"]) - 1)],
)

# %%
disk = lsmlab.configure("device=hdd")["device"]
access_s = parse_quantity(disk["seek"], "seconds") + 60 / disk["rpm"] / 2
in_place_per_s = 1 / (2 * access_s)
longer = lsmlab.run([*STORE, f"workload.value_size={VALUE_BYTES}", "workload.duration=300s"], progress=False)

# %% [markdown]
# Levels between L0 and the last ones are missing: as long as a store is small, RocksDB merges L0 into a deep level,
# and it uses the levels between only when they are needed.[^base-level]
#
# ## In place
#
# A store that updates in place reads a page and writes it back: two accesses to the disk, if the page is not in memory. Each
# access of this hard disk takes {{ access_s | seconds }}, the mean seek and half a revolution. One client does
# {{ in_place_per_s | count }} updates per second in this way.[^disk]

# %%
course.predict(
    "writes",
    "The LSM-tree runs on the same hard disk, with one client that writes as fast as it can. How many writes per "
    "second does it do in its first minute?",
    unit="writes / s",
    logarithmic=True,
    guess=None,
)

# %%
assert store.summary["ops_per_s"] > 100 * in_place_per_s
assert longer.summary["ops_per_s"] < 0.7 * store.summary["ops_per_s"]
course.reveal("writes", store.summary["ops_per_s"], form="count")

# %%
course.figure(
    store.plot.throughput(), "Writes in each second. A band is a time in which the store held its writers back."
)

# %% [markdown]
# ## Why
#
# The LSM-tree is {{ store.ops_per_s / in_place_per_s | count }} times as fast,[^faster] although it wrote each
# flushed byte {{ store.write_amplification | ratio }} times: this is its **write amplification**. It moves the head
# once for many values. The disk is busy for {{ store.device.utilisation | percent }} of the time.[^device]
#
# The first minute flatters it. The store was empty, and part of the work is only put off: over five minutes the same
# store does {{ longer.ops_per_s | count }} writes per second, with a write amplification of
# {{ longer.write_amplification | ratio }}.[^transient] Numbers of a store that is not yet **settled** are numbers of
# a beginning.
#
# In place, a page of {{ 4096 | size }} for a value of {{ VALUE_BYTES }} bytes is an amplification of
# {{ 4096 / VALUE_BYTES | ratio }}. This part of the argument has nothing to do with heads that move, so it holds for
# flash too. Move the slider: it also shows where the argument ends.

# %%
SIZES = [50, 100, 200, 400, 1000, 4000]
ways = {
    size: {
        "in place": 4096 / size,
        "LSM-tree": lsmlab.run(
            [*STORE, f"workload.value_size={size}", "workload.duration=30s"], progress=False
        ).summary["write_amplification"],
    }
    for size in SIZES
}
assert ways[4000]["LSM-tree"] > 4096 / 4000
course.slider(
    {
        f"{size} B": course.bars(both, title="", caption="", unit="bytes written per byte of value")
        for size, both in ways.items()
    },
    title="In place and in a tree, by the size of a value",
    label="value",
    start=1,
    caption="Bytes written per byte of value: a page of 4 KiB for each value, and flushes and compactions of the LSM-tree over "
    "half a minute.",
)

# %% [markdown]
# With values as large as a page the store in place writes each byte about once, and the tree writes more.[^crossing] Large
# values are not what LSM-trees are for.
#
# Nothing is free. The next lessons look at each of these costs:
#
# - *Stalls*: compaction is work for later, and writers may be faster than it. Here they were held back for
#   {{ store.stall_fraction | percent }} of the time.
# - *Space*: old versions stay until a compaction drops them. Files have {{ store.space_amplification | ratio }} times
#   the bytes of the live data, the **space amplification**.
# - *Reads*: a key may lie in several files, {{ store.files_per_level[0] }} of them in L0 at the end of this run.
