# ---
# title: Why LSM-trees
# aim: You learn why a store writes a value several times although a value written once would do, and what it gains.
# invariants:
#   - A store that updates pages in place moves the head of a disk, or rewrites a whole page, for each small value.
#   - An LSM-tree writes only large sorted files, one after the other, and never changes a file.
#   - Whatever is not sorted at once has to be sorted later; this work is called compaction.
# ---

# %% [markdown]
# ## The picture
#
# A write goes into a sorted buffer in memory, the **memtable**, and into a log. A full memtable becomes a file of level
# L0. Compactions merge files into deeper levels. Newer versions of a key lie above older ones.

# %%
import lsmlab
from lsmlab import course
from lsmlab.models.units import parse_quantity

VALUE_BYTES, KEY_BYTES = 100, 16
store = lsmlab.run(
    [
        "device=hdd",
        "workload.num=1M",
        f"workload.value_size={VALUE_BYTES}",
        "workload.duration=60s",
        "engine.options.write_buffer_size=4MiB",
    ],
    progress=False,
)
course.tree(store, "Files of an LSM-tree on a hard disk at the end of a run: a box is a file, a row is a level.")

# %%
disk = lsmlab.configure("device=hdd")["device"]
seek_s = parse_quantity(disk["seek"], "seconds")
turn_s = 60 / disk["rpm"]
access_s = seek_s + turn_s / 2
in_place_per_s = 1 / (2 * access_s)
assert store.summary["ops_per_s"] > 100 * in_place_per_s  # the text relies on it

# %% [markdown]
# A store that updates in place reads a page and writes it back: two accesses to the disk. Each access of this hard disk
# takes {{ access_s | seconds }}, the mean seek and half a revolution. So at best it does {{ in_place_per_s | count }}
# updates per second, if no page is in memory.

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
course.reveal("writes", store.summary["ops_per_s"], form="count")

# %%
course.figure(
    store.plot.throughput(), "Writes in each second. A band is a time in which the store held its writers back."
)

# %% [markdown]
# ## Why
#
# The LSM-tree is {{ store.ops_per_s / in_place_per_s | count }} times as fast, although it wrote each byte
# {{ store.write_amplification | ratio }} times: its **write amplification**. It moves the head once for many values, and
# the disk spends {{ store.device.utilisation | percent }} of the time on it. In place, a page of
# {{ 4096 | size }} for a value of {{ VALUE_BYTES }} bytes would be an amplification of {{ 4096 / VALUE_BYTES | ratio }},
# so the argument holds for flash too.
#
# Nothing is free:
#
# - *Stalls*: compaction is work for later, and writers may be faster. Here they were held back for
#   {{ store.stall_fraction | percent }} of the time.
# - *Space*: old versions stay until a compaction drops them. Live files have {{ store.space_amplification | ratio }} times
#   the bytes of the live data.
# - *Reads*: a key may lie in several files, {{ store.files_per_level[0] }} of them in L0 at the end of this run.
#
# The next lessons look at each of these costs.
