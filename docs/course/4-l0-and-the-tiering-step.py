# ---
# title: L0 and the tiering step
# aim: You learn why L0 is different from all other levels, what its trigger trades, and why everybody waits for its compaction.
# invariants:
#   - Files of L0 overlap, so a lookup may have to ask all of them; below L0 it asks one file per level.
#   - One compaction out of L0 runs at a time; with random keys it takes all of L0 and all of the level below.
#   - RocksDB waits until the trigger's number of files has come together; this is a step of tiering in a leveled tree.
# ---

# %% [markdown]
# ## The picture
#
# Files arrive in L0 one by one and leave it all at once. Between two compactions the number of files is a saw tooth.

# %%
import lsmlab
from lsmlab import course

TRIGGERS = [2, 4, 8]
COMMON = [
    "device=nvme",
    "workload=constant",
    "workload.read=0",
    "workload.insert=0",
    "workload.update=1",
    "workload.num=500k",
    "workload.value_size=400",
    "workload.rate=10000",
    "workload.duration=30s",
    "engine.options.write_buffer_size=1MiB",
    "engine.options.target_file_size_base=1MiB",
    "engine.options.max_bytes_for_level_base=16MiB",
    "engine.options.level_compaction_dynamic_level_bytes=false",
]
runs = {
    t: lsmlab.run([*COMMON, f"engine.options.level0_file_num_compaction_trigger={t}"], progress=False) for t in TRIGGERS
}

step = {
    t: sum(row["write_bytes"] for row in run.summary["levels"] if row["level"] == 1) / run.summary["flush_bytes"]
    for t, run in runs.items()
}
memtable, base = 1024 * 1024, 16 * 1024 * 1024

# %%
course.tree(runs[4], "Files by level with the default trigger, at the end of the run.")

# %% [markdown]
# Each compaction of L0 also rewrites L1, whatever the number of L0 files. Memtables have {{ memtable | size }} and L1 has
# a target of {{ base | size }}.

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
assert all(0.8 < step[t] * t * memtable / (t * memtable + base) < 1.2 for t in TRIGGERS)  # the formula below
course.reveal("trigger", list(step.values()), form="ratio")

# %%
course.figure(runs[8].plot.l0(), "Files in L0 with the highest trigger: they come one by one and leave together.")

# %% [markdown]
# ## Why
#
# A compaction of t files writes these files and L1 once: (t files + L1) / t files bytes per byte. So a trigger of {{ 2 }}
# costs {{ step[2] | ratio }} and one of {{ 8 }} costs {{ step[8] | ratio }}: waiting for more files saves writes. The
# formula gives {{ (2 * memtable + base) / (2 * memtable) | ratio }} and {{ (8 * memtable + base) / (8 * memtable) | ratio }};
# the simulation differs a little because L1 goes up and down around its target.
#
# The same trigger costs elsewhere:
#
# - *Reads*: a lookup meets up to as many overlapping files as L0 has. Bloom filters help: with {{ 10 }} bits per key, a
#   file that does not have the key is read in {{ bloom_false_positives(10) | percent }} of the cases, with {{ 6 }} bits in
#   {{ bloom_false_positives(6) | percent }}.
# - *Batches*: all of L0 and all of L1 are locked at the same time. No other compaction out of L0 or L1 can run, while
#   flushes go on adding files.
#
# The Tuning Guide therefore gives L1 the size of a full L0: write_buffer_size times the merged memtables times the trigger,
# {{ l0_bytes(64 * 1024 * 1024, 1, 4) | size }} for the defaults, so that this step writes two bytes per byte. Above
# {{ speedup_files(4, 20) | count }} files RocksDB runs several compactions at a time, and above {{ 20 }} it slows the
# writers down: the next lesson.
