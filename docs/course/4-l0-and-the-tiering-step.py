# ---
# title: L0 and the tiering step
# aim: You learn why L0 is different from all other levels, what its trigger trades, and why everybody waits for its compaction.
# invariants:
#   - Files of L0 overlap, so a lookup may have to ask all of them; below L0 it asks at most one file per level.[^lookups]
#   - One compaction from L0 to the next level runs at a time; with random keys it takes all files that L0 has, and
#     all of the level below.[^one]
#   - RocksDB waits until as many files as the trigger says, or the bytes of a full L1, have come together; this is a
#     step of tiering in a leveled tree.[^due]
# notes:
#   lookups: >-
#     RocksDB 8.11, `FilePicker`, `Version::Get` (behaviour/reads.md, Lookups).
#   one: >-
#     RocksDB 8.11, `GetOverlappingInputs`; files that are flushed during the compaction stay behind. Files of L0 may
#     be merged with each other meanwhile (behaviour/leveled-compaction.md, L0 compactions).
#   due: >-
#     RocksDB 8.11, `VersionStorageInfo::ComputeCompactionScore` with static levels: the larger of files / trigger and
#     bytes / max_bytes_for_level_base (behaviour/leveled-compaction.md, Scores).
#   formula: >-
#     Run: `assert all(0.8 < step[t] * t * memtable / (t * memtable + base) < 1.2 for t in TRIGGERS)`.
#   filter: >-
#     An ideal Bloom filter, as LevelDB's. RocksDB's keeps its probes within a cache line and lets 0.95 % pass at 10 bits,
#     `FastLocalBloomImpl` (behaviour/reads.md, Filters). There is no filter unless filter_policy is set.
#   locked: >-
#     RocksDB 8.11, a file of a running job cannot be picked again (behaviour/leveled-compaction.md, Conflicts).
#   guide: >-
#     RocksDB wiki, RocksDB Tuning Guide, Level Style Compaction: level 1 should have the size of level 0.
#   parallel: >-
#     RocksDB 8.11, `GetL0FileCountForCompactionSpeedup` (behaviour/write-stalls.md, Pressure), and
#     `DBImpl::GetBGJobLimits`: the default, max_background_jobs=2, has one slot for compactions
#     (behaviour/jobs-and-threads.md, Slots; Pressure rule).
#   delay: >-
#     RocksDB 8.11, `ColumnFamilyData::GetWriteStallConditionAndCause` (behaviour/write-stalls.md, Stall conditions).
#   slider: >-
#     Run: `assert grid[4][2] < 0.5 * grid[32][2]`.
# ---

# %% [markdown]
# ## The picture
#
# Files arrive in L0 one by one, from flushes, and leave it together, in a compaction. Between two compactions the
# number of files is a saw tooth. In the picture, to scale, L0 is smaller than L1, and L1 is small beside L2. But L0 is
# the only door: every byte that the store keeps has to go through it, and through one compaction at a time.[^one]

# %%
import lsmlab
from lsmlab import course

TRIGGERS = [2, 4, 8]
COMMON = [
    "device=nvme", "workload=constant", "workload.read=0", "workload.insert=0", "workload.update=1", "workload.num=500k",
    "workload.value_size=400", "workload.rate=10000", "workload.duration=30s",
    "engine.options.write_buffer_size=1MiB", "engine.options.target_file_size_base=1MiB",
    "engine.options.level_compaction_dynamic_level_bytes=false",
]  # fmt: skip


def stored(trigger, base_mib=16):
    """Run the store with a trigger and a target of L1 in MiB."""
    options = {"level0_file_num_compaction_trigger": trigger, "max_bytes_for_level_base": f"{base_mib}MiB"}
    return lsmlab.run([*COMMON, *(f"engine.options.{k}={v}" for k, v in options.items())], progress=False)


def into_l1(run):
    """Return the bytes written into L1 per flushed byte."""
    return sum(row["write_bytes"] for row in run.summary["levels"] if row["level"] == 1) / run.summary["flush_bytes"]


runs = {t: stored(t) for t in TRIGGERS}
step = {t: into_l1(run) for t, run in runs.items()}
memtable, base = 1024 * 1024, 16 * 1024 * 1024
assert runs[8].summary["files_per_level"][0] > 0  # the picture shows L0
course.tree(runs[8], "The levels of the store with the highest trigger, at the end of the run.")

# %% [markdown]
# A compaction of L0 merges its files with those of L1 that have the same keys. With random keys these are all files
# of L1, whether L0 brings two files or eight.[^one] Memtables have {{ memtable | size }} here, and L1 has a target of
# {{ base | size }}.

# %%
course.predict(
    "trigger",
    "How many bytes does the store write into L1 per flushed byte, with each trigger?",
    unit="bytes per byte flushed",
    points=TRIGGERS,
    axis="level0_file_num_compaction_trigger",
    guess=None,
)

# %%
assert all(0.8 < step[t] * t * memtable / (t * memtable + base) < 1.2 for t in TRIGGERS)
course.reveal("trigger", list(step.values()), form="ratio")

# %%
course.figure(runs[8].plot.l0(), "Files in L0 with the highest trigger: they come one by one and leave together.")

# %% [markdown]
# ## Why
#
# A compaction of t files writes these files and L1 once: (t files + L1) / t files bytes per byte. So a trigger of
# {{ 2 }} costs {{ step[2] | ratio }} and one of {{ 8 }} costs {{ step[8] | ratio }}: waiting for more files saves
# writes. The formula gives {{ (2 * memtable + base) / (2 * memtable) | ratio }} and
# {{ (8 * memtable + base) / (8 * memtable) | ratio }}; the simulation differs a little, because L1 goes up and down
# around its target.[^formula] Move the slider: the smaller L1 is, the less this step costs.

# %%
grid = {mib: {t: into_l1(runs[t] if mib == 16 else stored(t, mib)) for t in TRIGGERS} for mib in (4, 8, 16, 32)}
assert grid[4][2] < 0.5 * grid[32][2]
course.slider(
    {
        f"{mib} MiB": course.bars(
            {f"trigger {t}": w for t, w in row.items()}, title="", caption="", unit="bytes into L1 per byte flushed"
        )
        for mib, row in grid.items()
    },
    title="The step from L0 to L1 by trigger and size of L1",
    label="target of L1",
    start=2,
    caption="Bytes written into L1 per flushed byte.",
)

# %% [markdown]
# With the smallest L1 the step costs less than half of what it costs with the largest one.[^slider] But a small L1 makes the
# levels below it small too, so there are more of them, and each costs its share, as the last lesson showed. The Tuning Guide
# therefore gives L1 the size of a full L0:[^guide] write_buffer_size times the merged memtables times the trigger,
# {{ l0_bytes(64 * 1024 * 1024, 1, 4) | size }} for the defaults, so that this step writes two bytes per byte.
#
# A high trigger costs elsewhere:
#
# - *Reads*: a lookup meets up to as many overlapping files as L0 has. Bloom filters help: with {{ 10 }} bits per key, a
#   file that does not have the key is read in {{ bloom_false_positives(10) | percent }} of the cases, with {{ 6 }} bits in
#   {{ bloom_false_positives(6) | percent }}.[^filter]
# - *Batches*: all of L0 and all of L1 are locked at the same time. No other compaction into or out of L1 can run, while
#   flushes go on adding files.[^locked]
#
# RocksDB reacts when files pile up. From {{ speedup_files(4, 20) | count }} files on, several compactions may run at
# a time, if `max_background_jobs` has slots for them; the default has one.[^parallel] From {{ 20 }} files on it slows
# the writers down:[^delay] the next lesson.
