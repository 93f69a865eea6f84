# ---
# title: Values apart in blob files
# aim: You learn what a store spares that keeps large values apart from its keys, what it pays, and when that is worth it.
# invariants:
#   - With blob files, SST files hold keys with references, and a compaction rewrites references instead of values.[^apart]
#   - A value becomes garbage when a compaction drops its reference. Until then an overwritten value counts as live.[^garbage]
#   - Collection moves the values that are left in the oldest blob files to new ones, and each move is a write.[^moves]
# notes:
#   apart: >-
#     RocksDB 6.18 and newer, `BlobFileBuilder::Add` (behaviour/blob-files.md, Which values leave).
#   garbage: >-
#     RocksDB 6.23 and newer, `BlobGarbageMeter` (behaviour/blob-files.md, Garbage and links).
#   moves: >-
#     RocksDB 6.18 and newer, `GarbageCollectBlobIfNeeded` (behaviour/blob-files.md, Relocation).
#   files: >-
#     Run: live_bytes and blobs.bytes (docs/reference/summary.md, Work and amplification).
#   record: >-
#     RocksDB, header of a blob record and blob index (behaviour/blob-files.md, Which values leave).
#   once: >-
#     Run: `assert apart.summary["write_amplification"] < 0.5 * plain.summary["write_amplification"]`.
#   small: >-
#     Run: `assert spared[0] < spared[-1]`: the ratio of both write amplifications by value size.
#   last: >-
#     RocksDB, `SaveBlobFilesTo` (behaviour/blob-files.md, Garbage and links).
#   full: >-
#     Run: `assert apart.summary["space_amplification"] > 2 * plain.summary["space_amplification"]`.
#   printed: >-
#     Run: `assert apart.summary["blobs"]["space_amplification"] < apart.summary["space_amplification"]`
#     (behaviour/blob-files.md, What is printed).
#   between: >-
#     Run: `assert apart.summary["write_amplification"] < collected.summary["write_amplification"]` and
#     `assert collected.summary["space_amplification"] < 0.6 * apart.summary["space_amplification"]`.
#   all: >-
#     Run: `assert amplification[-1] > plain.summary["write_amplification"]`.
#   steps: >-
#     Run: `assert amplification == sorted(amplification)` and `assert space == sorted(space, reverse=True)`.
#   reads: >-
#     RocksDB, an iterator reads the blob of each entry that it returns (behaviour/blob-files.md, Reads).
# ---

# %% [markdown]
# ## The picture
#
# A compaction merges by keys, and yet it copies values. With **blob files** a flush writes each large value once, into a
# file of its own kind, and the SST file gets a reference of a few bytes.[^record] Below are the files of two stores with
# the same data, one with values in its SST files and one with values apart, after the data have been overwritten several
# times.[^files]

# %%
import lsmlab
from lsmlab import course

DATA_BYTES = 2_000_000_000
UPDATES = ["device=nvme", "workload=overwrite", "workload.benchmark_write_rate_limit=30MB/s", "workload.duration=300s"]
BLOBS = ["engine.options.enable_blob_files=true"]
COLLECTED = [
    *BLOBS, "engine.options.enable_blob_garbage_collection=true", "engine.options.blob_compaction_readahead_size=2MiB",
]  # fmt: skip


def overwritten(value_bytes, *more):
    """Run the store with values of one size; the data are the same bytes in all stores."""
    size = [f"workload.value_size={value_bytes}", f"workload.num={DATA_BYTES // value_bytes}"]
    return lsmlab.run([*UPDATES, *size, *more], progress=False)


plain, apart = overwritten(1000), overwritten(1000, *BLOBS)
assert apart.summary["write_amplification"] < 0.5 * plain.summary["write_amplification"]
in_blobs = apart.summary["blobs"]["bytes"]
course.areas(
    {
        "SST files, values inside": plain.summary["live_bytes"],
        "SST files, values apart": apart.summary["live_bytes"] - in_blobs,
        "blob files": in_blobs,
    },
    "Files of both stores at the end of the run.",
)

# %% [markdown]
# Compactions of the second store only see the small square. The first store writes
# {{ plain.write_amplification | ratio }} bytes per flushed byte.

# %%
course.predict("apart", "How many bytes does the store with blob files write?", unit="bytes per byte flushed", guess=None)

# %%
course.reveal("apart", apart.summary["write_amplification"])

# %% [markdown]
# Each value is written once; what is above one is the SST files.[^once] The smaller a value is beside its key and its
# reference, the less there is to spare.[^small]

# %%
SIZES = [100, 400, 1000, 4000]
by_size = {
    "values in SST files": [plain if size == 1000 else overwritten(size) for size in SIZES],
    "blob files": [apart if size == 1000 else overwritten(size, *BLOBS) for size in SIZES],
    "blob files, collected": [overwritten(size, *COLLECTED) for size in SIZES],
}
spared = [
    one.summary["write_amplification"] / two.summary["write_amplification"]
    for one, two in zip(by_size["values in SST files"], by_size["blob files"], strict=True)
]
assert spared[0] < spared[-1]
collected = by_size["blob files, collected"][SIZES.index(1000)]
course.lines(
    {name: (SIZES, [run.summary["write_amplification"] for run in runs]) for name, runs in by_size.items()},
    title="Write amplification by value size",
    caption="Bytes written by flushes and compactions per flushed byte; the same bytes of data in all stores.",
    x="value (bytes)",
    y="bytes per byte flushed",
)

# %% [markdown]
# ## The price is space
#
# An overwritten value does not leave its blob file. The file stays until its last value is overwritten.[^last]

# %%
course.predict(
    "space",
    "How many bytes does the store with blob files hold per byte of newest versions, without collection?",
    unit="bytes per byte",
    guess=None,
)

# %%
assert apart.summary["space_amplification"] > 2 * plain.summary["space_amplification"]
assert apart.summary["blobs"]["space_amplification"] < apart.summary["space_amplification"]
course.reveal("space", apart.summary["space_amplification"])

# %% [markdown]
# With values in the SST files it is {{ plain.space_amplification | ratio }}.[^full] RocksDB prints another number, a
# "space amp" of {{ apart.blobs.space_amplification | ratio }}: it counts a value as garbage only when a compaction has
# met its reference, so overwritten values further up in the tree count as live there.[^printed] Two readings, and only the first
# one tells how large the drive must be.
#
# ## Collection
#
# `enable_blob_garbage_collection` lets compactions move what is left in the oldest blob files, so that these files go. The age
# cut-off is the share of the files that counts as old.[^moves]

# %%
CUTOFFS = [0.1, 0.25, 0.5, 1.0]
by_cutoff = [
    collected if cutoff == 0.25
    else overwritten(1000, *COLLECTED, f"engine.options.blob_garbage_collection_age_cutoff={cutoff}")
    for cutoff in CUTOFFS
]  # fmt: skip
amplification = [run.summary["write_amplification"] for run in by_cutoff]
space = [run.summary["space_amplification"] for run in by_cutoff]
assert apart.summary["write_amplification"] < collected.summary["write_amplification"]
assert collected.summary["space_amplification"] < 0.6 * apart.summary["space_amplification"]
assert amplification == sorted(amplification)
assert space == sorted(space, reverse=True)
assert amplification[-1] > plain.summary["write_amplification"]

# %%
course.predict(
    "cutoff",
    "What is the write amplification at these cut-offs? The last one calls all files old.",
    unit="bytes per byte flushed",
    points=CUTOFFS,
    axis="age cut-off",
    guess=None,
)

# %%
course.reveal("cutoff", amplification)

# %%
course.lines(
    {"write amplification": (CUTOFFS, amplification), "space amplification": (CUTOFFS, space)},
    title="Writes and space by age cut-off",
    caption="Bytes written per flushed byte, and bytes on the drive per byte of newest versions.",
    x="age cut-off",
    y="bytes per byte",
)

# %% [markdown]
# A larger share of old files means more writes and less space.[^steps] At the default of {{ CUTOFFS[1] }} the store has a
# write amplification of {{ collected.write_amplification | ratio }} and holds {{ collected.space_amplification | ratio }}
# bytes per live byte, between both extremes.[^between] If all files are old, each compaction moves all values of its
# inputs, and the store writes more than the one without blob files.[^all]
#
# ## When it pays
#
# - Where values are large: at {{ SIZES[0] }} bytes blob files divide write amplification by {{ spared[0] | ratio }}, at
#   {{ SIZES[3] }} bytes by {{ spared[3] | ratio }}.
# - Where writes limit the store, and the drive has room.[^full]
# - Not where scans do: a scan reads each value by a request of its own.[^reads]
