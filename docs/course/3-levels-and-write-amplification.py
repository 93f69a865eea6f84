# ---
# title: Levels and write amplification
# aim: You learn to add up write amplification level by level, and why the textbook's sum is more than a store writes.
# invariants:
#   - Each level below L0 is one sorted run; from one to the next the target grows by the multiplier.[^targets]
#   - A byte that moves down one level is written once, together with the bytes that it overlaps there; where it overlaps
#     nothing, the file is moved without being written.[^moves]
#   - Write amplification is the sum over the levels; the flush counts as one.[^sum]
# notes:
#   targets: >-
#     RocksDB 8.11, `VersionStorageInfo::CalculateBaseBytes`
#     (behaviour/leveled-compaction.md, Static targets; Dynamic targets). This lesson uses static targets. Dynamic
#     ones are at least max_bytes_for_level_base each.
#   moves: >-
#     RocksDB 8.11, `Compaction::IsTrivialMove` (behaviour/leveled-compaction.md, Trivial moves).
#   sum: >-
#     The row Sum of RocksDB's compaction statistics: bytes that flushes and compactions write, over flushed bytes
#     (docs/reference/summary.md, write_amplification).
#   settled: >-
#     Run: `assert abs(longer.summary["write_amplification"] / usual.summary["write_amplification"] - 1) < 0.05`:
#     three times the length gives the same.
#   guide: >-
#     RocksDB wiki, RocksDB Tuning Guide, Level Style Compaction: with three levels below L1 and a multiplier of 10 it counts
#     1 + 2 + 10 + 10 + 10 = 33.
#   guide-more: >-
#     Run: `assert course.formula("leveled_write_amplification", deep[10], 10) > 1.2 * usual.summary["write_amplification"]`.
#   pick: >-
#     RocksDB 6.0 and newer, `VersionStorageInfo::UpdateFilesByCompactionPri` with kMinOverlappingRatio
#     (behaviour/leveled-compaction.md, File priority).
#   pick-run: >-
#     Run: `assert by_size.summary["write_amplification"] > 1.2 * usual.summary["write_amplification"]`: the same store with
#     compaction_pri=kByCompensatedSize.
#   batch: >-
#     Run: `assert usual.series["level_bytes_1"].max() > 1.5 * base`.
#   batch-cost: >-
#     Run: `assert per_level(by_size, 2) < 0.8 * 10`.
#   dropped: >-
#     RocksDB 8.11, `compaction_iterator.cc` keeps the newest version (behaviour/compaction-jobs.md, Dropped entries).
#     Run: entries_dropped and entries_in of the level.
#   estimate: >-
#     RocksDB 8.11, `GetOverlappingInputs`: a compaction of L0 rewrites all of L1 that it overlaps, so an L1 larger than
#     L0 costs more than two in this step (behaviour/leveled-compaction.md, L0 compactions). The next lesson measures it.
#   less: >-
#     Run: `assert max(amplifications) < 2 * min(amplifications)`, while the multipliers differ by five times.
#   space: >-
#     RocksDB wiki, Leveled Compaction, which gives 1.11 for dynamic levels with a multiplier of 10.
#   slider: >-
#     Run: `assert all(sum(both["RocksDB's pick"].values()) < sum(both["by size"].values()) for both in grid.values())`.
# ---

# %% [markdown]
# ## The picture
#
# The store below is full of records that are overwritten at random. The target of L2 is ten times that of L1, the
# target of L3 a hundred times.[^targets] The picture is to scale, and it says most about LSM-trees: most of the data
# is in the last full level, and the levels above are the way to it.

# %%
import lsmlab
from lsmlab import course

MULTIPLIERS = [4, 10, 20]
UPDATES = [
    "device=nvme", "workload=constant", "workload.read=0", "workload.insert=0", "workload.update=1", "workload.num=1M",
    "workload.value_size=400", "workload.rate=15000", "workload.duration=40s",
    "engine.options.write_buffer_size=1MiB", "engine.options.target_file_size_base=1MiB",
    "engine.options.max_bytes_for_level_base=4MiB", "engine.options.level_compaction_dynamic_level_bytes=false",
]  # fmt: skip
BY_SIZE = "engine.options.compaction_pri=kByCompensatedSize"


def updated(multiplier, *more):
    """Run the store with a multiplier."""
    return lsmlab.run([*UPDATES, f"engine.options.max_bytes_for_level_multiplier={multiplier}", *more], progress=False)


def by_level(run):
    """Return the bytes written into each level per flushed byte."""
    return {f"L{row['level']}": row["write_bytes"] / run.summary["flush_bytes"] for row in run.summary["levels"]}


def per_level(run, level):
    """Return the bytes written into a level per flushed byte."""
    return by_level(run)[f"L{level}"]


runs = {m: updated(m) for m in MULTIPLIERS}
usual, by_size, longer = runs[10], updated(10, BY_SIZE), updated(10, "workload.duration=120s")
base = 4 * 2**20
deep = {m: sum(1 for row in run.summary["levels"] if row["level"] > 1 and row["w_amp"]) for m, run in runs.items()}
assert abs(longer.summary["write_amplification"] / usual.summary["write_amplification"] - 1) < 0.05
assert usual.series["level_bytes_1"].max() > 1.5 * base
course.tree(usual, "The levels at the end of the run.")

# %% [markdown]
# How many bytes does the store write for each byte that it flushes? RocksDB's Tuning Guide counts like this.[^guide]
# The flush writes a byte once. L0 and an L1 of the same size are merged, which writes two bytes per byte. Each deeper
# level writes *multiplier* bytes per byte, because a file overlaps that many files below. Here {{ deep[10] }} levels
# below L1 receive compactions, so with a multiplier of {{ 10 }} the sum is
# {{ leveled_write_amplification(deep[10], 10) | ratio }}.

# %%
course.predict(
    "wa", "What is the write amplification of this store in the simulation?", unit="bytes per byte flushed", guess=None
)

# %%
assert course.formula("leveled_write_amplification", deep[10], 10) > 1.2 * usual.summary["write_amplification"]
assert by_size.summary["write_amplification"] > 1.2 * usual.summary["write_amplification"]
assert per_level(by_size, 2) < 0.8 * 10
fullest, second_by_size = usual.series["level_bytes_1"].max() / base, per_level(by_size, 2)
last = usual.summary["levels"][3]
dropped = last["entries_dropped"] / last["entries_in"]
course.reveal("wa", usual.summary["write_amplification"], form="ratio")

# %%
course.stacked(
    {"RocksDB's pick": by_level(usual), "by size": by_level(by_size)},
    title="Write amplification by level",
    unit="bytes written per byte flushed",
    caption="Bytes written into each level per flushed byte; the length of a bar is the write amplification. Above: the store "
    "as it is. Below: files are picked by size, without regard to what they overlap.",
)

# %% [markdown]
# ## Why the sum of the guide is larger
#
# The guide's rule gives {{ leveled_write_amplification(deep[10], 10) | ratio }}, the simulation
# {{ usual.write_amplification | ratio }},[^guide-more] and it stays there: the store is settled.[^settled] Three reasons:
#
# - RocksDB picks the file with the *least overlap* per byte.[^pick] If it picked files by their size, the write
#   amplification would be {{ by_size.write_amplification | ratio }}.[^pick-run]
# - L1 receives a batch as large as itself. When its files leave it, it has up to {{ fullest | ratio }} times
#   its target,[^batch] so one of them overlaps fewer bytes of L2: even without a clever pick, L2 costs
#   {{ second_by_size | ratio }} and not {{ 10 }}.[^batch-cost]
# - Overwritten versions are dropped on the way: {{ dropped | percent }} of what compactions into L3 read. So the file's own
#   bytes are not added to those below it.[^dropped]
#
# The rule is an estimate on the safe side for most stores, and a good one to compare designs with.[^estimate]
#
# ## The multiplier
#
# A small multiplier makes each level cheaper, and needs more levels.[^less]

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
assert max(amplifications) < 2 * min(amplifications)
course.reveal("multiplier", "abc"[amplifications.index(min(amplifications))], values=amplifications)

# %%
grid = {
    m: {"RocksDB's pick": by_level(runs.get(m) or updated(m)), "by size": by_level(updated(m, BY_SIZE))}
    for m in (4, 6, 8, 10, 15, 20)
}
assert all(sum(both["RocksDB's pick"].values()) < sum(both["by size"].values()) for both in grid.values())
course.slider(
    {str(m): course.stacked(both, title="", caption="", unit="bytes written per byte flushed") for m, both in grid.items()},
    title="Write amplification by multiplier",
    label="multiplier",
    start=3,
    caption="Bytes written into each level per flushed byte. Move the slider: levels come and go, and the sum changes little.",
)

# %% [markdown]
# Work per level grows with the multiplier m, the number of levels with log(data) / log(m). So the sum changes less than the
# multiplier: from {{ runs[4].write_amplification | ratio }} at {{ 4 }} to {{ runs[20].write_amplification | ratio }} at
# {{ 20 }}. With every multiplier, RocksDB's pick writes less than a pick by size.[^slider]
#
# What a small multiplier costs is *space*: all levels above the last hold versions that may be old. With dynamic
# level targets they hold one part in m, one in m squared and so on: {{ dynamic_space_amplification(10) | ratio }}
# bytes per byte for a multiplier of {{ 10 }}, the number that RocksDB's documentation gives,[^space] and
# {{ dynamic_space_amplification(4) | ratio }} for {{ 4 }}. The simulated stores, with static targets, have
# {{ usual.space_amplification | ratio }} and {{ runs[4].space_amplification | ratio }}.
