# ---
# title: Levels and write amplification
# aim: You learn to add up write amplification level by level, and why the textbook's sum is an upper bound.
# invariants:
#   - Each level below L0 is one sorted run, and its target is the multiplier times that of the level above.
#   - A byte that moves down one level is written once, together with the bytes that it overlaps there.
#   - Write amplification is the sum over the levels; the flush counts as one.
# ---

# %% [markdown]
# ## The picture
#
# The store below is full of records that are overwritten at random. Each level is larger than the level above it by the
# multiplier, up to the last, which holds what is left.

# %%
import lsmlab
from lsmlab import course

MULTIPLIERS = [4, 10, 20]
UPDATES = [
    "device=nvme",
    "workload=constant",
    "workload.read=0",
    "workload.insert=0",
    "workload.update=1",
    "workload.num=1M",
    "workload.value_size=400",
    "workload.rate=15000",
    "workload.duration=40s",
    "engine.options.write_buffer_size=1MiB",
    "engine.options.target_file_size_base=1MiB",
    "engine.options.max_bytes_for_level_base=4MiB",
    "engine.options.level_compaction_dynamic_level_bytes=false",
]
runs = {
    m: lsmlab.run([*UPDATES, f"engine.options.max_bytes_for_level_multiplier={m}"], progress=False) for m in MULTIPLIERS
}
usual = runs[10]
deep = {m: sum(1 for row in run.summary["levels"] if row["level"] > 1 and row["w_amp"]) for m, run in runs.items()}
course.tree(usual, "Files by level at the end of the run, and the targets of the levels.")

# %% [markdown]
# RocksDB's Tuning Guide counts: the flush writes a byte once; L0 and an L1 of the same size are merged, which writes two
# bytes per byte; each deeper level writes *multiplier* bytes per byte, because a file overlaps that many files below.
# Here L1 receives compactions from L0, and {{ deep[10] }} deeper levels receive compactions. With a multiplier of
# {{ 10 }} this gives {{ leveled_write_amplification(deep[10], 10) | ratio }}.

# %%
course.predict(
    "wa", "What is the write amplification of this store in the simulation?", unit="bytes per byte flushed", guess=None
)

# %%
assert course.formula("leveled_write_amplification", deep[10], 10) > 1.2 * usual.summary["write_amplification"]
course.reveal("wa", usual.summary["write_amplification"], form="ratio")

# %%
course.stacked(
    {
        f"multiplier {m}": {
            f"L{row['level']}": row["write_bytes"] / run.summary["flush_bytes"] for row in run.summary["levels"]
        }
        for m, run in runs.items()
    },
    title="Write amplification by level",
    unit="bytes written per byte flushed",
    caption="Bytes written into each level per flushed byte; the length of a bar is the write amplification.",
)

# %% [markdown]
# ## Why the sum of the guide is larger
#
# The guide's rule gives {{ leveled_write_amplification(deep[10], 10) | ratio }}, the simulation
# {{ usual.write_amplification | ratio }}. Three reasons:
#
# - RocksDB picks the file with the *least overlap* per byte. Where the upper level is dense, a file meets fewer bytes
#   below; a level that should cost the multiplier costs about half of it.
# - The last level is not full, so a file overlaps fewer bytes there.
# - Overwritten versions are dropped on the way down and are not written again.
#
# The rule is a plan for the worst case, and a good one to compare designs with.
#
# ## The multiplier

# %%
course.predict(
    "multiplier",
    "The multiplier becomes smaller: more levels, each of which costs less. Which multiplier writes least?",
    choices=[f"{m}, with {deep[m]} levels below L1 that receive compactions" for m in MULTIPLIERS],
    unit="bytes per byte flushed",
    guess=None,
)

# %%
amplifications = [run.summary["write_amplification"] for run in runs.values()]
course.reveal("multiplier", "abc"[amplifications.index(min(amplifications))], values=amplifications)

# %% [markdown]
# Work per level grows with the multiplier m, the number of levels with log(data) / log(m). The sum changes less than the
# multiplier: from {{ runs[4].write_amplification | ratio }} at {{ 4 }} to {{ runs[20].write_amplification | ratio }} at
# {{ 20 }}. What a small multiplier costs is *space*: all levels above the last hold versions that may be old. With
# dynamic level targets they hold one part in m, one in m squared and so on:
# {{ dynamic_space_amplification(10) | ratio }} bytes per byte for a multiplier of {{ 10 }}, the number that RocksDB's
# documentation gives, and {{ dynamic_space_amplification(4) | ratio }} for {{ 4 }}. The simulated stores, with static
# targets, have {{ usual.space_amplification | ratio }} and {{ runs[4].space_amplification | ratio }}.
