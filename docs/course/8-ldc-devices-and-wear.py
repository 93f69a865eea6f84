# ---
# title: Lower-level driven compaction, devices and wear
# aim: You learn a second way to make compactions small, what the device contributes to a stall, and how long a drive lives.
# invariants:
#   - Upper-level driven compaction moves a file down at once and rewrites every file that it overlaps.[^udc]
#   - Lower-level driven compaction links first and rewrites a lower file only when enough slices have come together.[^ldc]
#   - The maker of a flash drive promises a number of written bytes, its endurance, and write amplification uses them
#     up.[^endurance]
# notes:
#   udc: >-
#     LevelDB 1.23, `VersionSet::PickCompaction` (behaviour/leveldb.md, LevelDB level and file choice; LevelDB inputs).
#   ldc: >-
#     LDC (Chai et al., ICDE 2019), rules D2 and D3 (behaviour/ldc.md, LDC rules). No code was released.
#   endurance: >-
#     Data sheets count bytes that the host writes; what the drive copies inside is in the maker's number
#     (docs/reference/devices.md, Configured devices).
#   measure: >-
#     Requests to the drive, and short runs of RocksDB; the file is a parameter set (docs/reference/cases.md, Parameter sets).
#   arithmetic: >-
#     LDC, the arithmetic of a full tree: k per level against two per level (background/ldc.md, The arithmetic). In a
#     growing tree slices are larger than the file divided by the multiplier.
#   typical: >-
#     Run: `assert share_ldc > 2 * share_udc`: the compaction with the median share of each run.
#   faster: >-
#     Run: `assert ldc.summary["ops_per_s"] > 1.2 * udc.summary["ops_per_s"]`. The paper has 1.78 times in its
#     write-only test (background/ldc.md, Model and paper).
#   space: >-
#     Run: `assert ldc.summary["space_amplification"] > udc.summary["space_amplification"]`.
#   scans: >-
#     LDC, rule D4; a slice costs a scan as much as a sorted run (background/ldc.md, Model and paper).
#   busy: >-
#     Run: `assert busy[2] < 50 < 80 < busy[0]`.
#   twice: >-
#     Run: `assert 0.9 < doubled.summary["ops_per_s"] / nvme.summary["ops_per_s"] < 1.15`, with twice the read and
#     write bandwidth.
#   jobs: >-
#     Run: `assert grid[4]["nvme"] > 1.5 * grid[2]["nvme"]`. Of two jobs one compacts and one flushes, of four three
#     may compact: RocksDB 8.11, `DBImpl::GetBGJobLimits` (behaviour/jobs-and-threads.md, Slots).
#   disk: >-
#     Run: `assert grid[8]["hdd"] < 1.5 * grid[2]["hdd"]`.
#   full: >-
#     Run: `assert full["LevelDB"].summary["stalls"] == full["LDC"].summary["stalls"] == 0`: overwrites of a store of
#     a million records for five minutes. LevelDB's write amplification is settled:
#     `assert abs(half.summary["write_amplification"] / full["LevelDB"].summary["write_amplification"] - 1) < 0.03`. LDC's
#     files still grow.
#   fill: >-
#     Run: `assert full["LevelDB"].summary["write_amplification"] > 1.2 * udc.summary["write_amplification"]`.
#   wear: >-
#     Arithmetic: the maker's bytes, over user bytes times write amplification. The log, file systems and other files
#     are not counted.
# ---

# %% [markdown]
# ## The picture
#
# LevelDB moves a file of b bytes down and rewrites the k files that it overlaps: about k times b bytes.[^udc] LDC
# freezes the file and links a **slice** of it to each file below; no bytes move. When a lower file has as many slices
# as the multiplier of the levels, it is rewritten together with them.[^ldc] The slices are about as large as the
# file, or larger, so a byte that moves down costs about two written bytes, or fewer.[^arithmetic]

# %%
import lsmlab
from lsmlab import course
from lsmlab.models.units import parse_quantity

FILL = ["device=sata", "workload.num=2M", "workload.value_size=400", "workload.duration=30s"]
udc = lsmlab.run(["engine=leveldb", *FILL], progress=False)
ldc = lsmlab.run(["engine=ldc", *FILL], progress=False)


typical = course.rewrites(
    {"LevelDB": udc, "LDC": ldc},
    "One typical compaction below L1 of each store, to scale, a box for each file or slice: what moves down, and what is "
    "rewritten with it.",
)


def down_share(store):
    """Return the share of the bytes of a store's typical compaction that move down."""
    down, with_it = (
        sum(size for name, size in zip(trace["y"], trace["x"], strict=True) if name == store)
        for trace in typical.figure.traces
    )
    return down / (down + with_it)


share_udc, share_ldc = down_share("LevelDB"), down_share("LDC")
assert share_ldc > 2 * share_udc
typical

# %% [markdown]
# In this compaction, {{ share_udc | percent }} of the bytes of LevelDB move down, and the rest lies there already. In
# LDC it is {{ share_ldc | percent }}.[^typical] LevelDB fills this store on a SATA SSD with
# {{ udc.ops_per_s | count }} writes per second in a closed loop, half a minute from empty. Its write amplification is
# {{ udc.write_amplification | ratio }}.

# %%
course.predict("ldc", "How many writes per second does the same store do with LDC?", unit="writes / s", guess=None)

# %%
assert ldc.summary["ops_per_s"] > 1.2 * udc.summary["ops_per_s"]
assert ldc.summary["space_amplification"] > udc.summary["space_amplification"]
course.reveal("ldc", ldc.summary["ops_per_s"], form="count")

# %%
course.bars(
    {"LevelDB": udc.summary["write_amplification"], "LDC": ldc.summary["write_amplification"]},
    title="Write amplification",
    unit="bytes written per byte flushed",
    caption="Bytes that flushes and compactions write per flushed byte.",
)

# %% [markdown]
# LDC is {{ ldc.ops_per_s / udc.ops_per_s | ratio }} times as fast with a write amplification of
# {{ ldc.write_amplification | ratio }}.[^faster] The price is space, {{ ldc.space_amplification | ratio }} instead of
# {{ udc.space_amplification | ratio }} bytes per live byte, because frozen files wait for their last slice;[^space]
# and scans, which have to look into every slice.[^scans]
#
# ## The device
#
# A compaction that writes less is one way to relieve a device. A faster device is another one, as long as the device is what
# writers wait for.[^busy]

# %%
DEVICES = ["hdd", "sata", "nvme"]
ON = ["workload.num=2M", "workload.value_size=400", "workload.duration=20s", "engine.options.write_buffer_size=8MiB"]


def filled(device, *more):
    """Run RocksDB on a device."""
    return lsmlab.run([f"device={device}", *ON, *more], progress=False)


on = {name: filled(name) for name in DEVICES}
hdd, sata, nvme = on.values()
busy = [100 * run.summary["device"]["utilisation"] for run in on.values()]
doubled = filled("nvme", "device.read_bandwidth=7000MB/s", "device.write_bandwidth=5400MB/s")

# %%
course.predict(
    "busy",
    "RocksDB with default jobs and memtables of 8 MiB runs on a hard disk, a SATA SSD and an NVMe drive, with a client that "
    "writes as fast as it can. Which device is busy for the smallest part of the time?",
    choices=DEVICES,
    unit="% of the time in which the device is busy",
    guess=None,
)

# %%
assert busy[2] < 50 < 80 < busy[0]
assert 0.9 < doubled.summary["ops_per_s"] / nvme.summary["ops_per_s"] < 1.15
course.reveal("busy", "abc"[busy.index(min(busy))], values=busy)

# %%
course.stacked(
    {name: {c.replace("_", " "): s for c, s in on[name].summary["stall_seconds"].items() if s} for name in DEVICES},
    title="Seconds in stalls by cause",
    unit="s",
    caption="One bar per device: seconds of the run in which writers were held back.",
)

# %% [markdown]
# A faster device moves the bottleneck. The hard disk is {{ busy[0] / 100 | percent }} busy, the NVMe drive
# {{ busy[2] / 100 | percent }},[^busy] and writers on the NVMe drive are still held back for
# {{ nvme.stall_fraction | percent }} of the time. There, a drive of twice the bandwidth does
# {{ doubled.ops_per_s / nvme.ops_per_s | ratio }} times the writes.[^twice] What is missing is somebody who compacts:
# move the slider to more background jobs.

# %%
JOBS = [2, 4, 8]
grid = {
    jobs: {
        name: (on[name] if jobs == 2 else filled(name, f"engine.options.max_background_jobs={jobs}")).summary["ops_per_s"]
        for name in DEVICES
    }
    for jobs in JOBS
}
assert grid[4]["nvme"] > 1.5 * grid[2]["nvme"]
more_jobs = grid[4]["nvme"] / grid[2]["nvme"]
assert grid[8]["hdd"] < 1.5 * grid[2]["hdd"]
course.slider(
    {str(jobs): course.bars(row, title="", caption="", unit="writes / s") for jobs, row in grid.items()},
    title="Writes per second by background jobs",
    label="max_background_jobs",
    caption="RocksDB in a closed loop on three devices, twenty seconds from empty.",
)

# %% [markdown]
# With four jobs the NVMe drive does {{ more_jobs | ratio }} times the writes of two.[^jobs] On the hard disk more
# jobs help little: it is the bottleneck, whatever works on it.[^disk] So find the bottleneck before you buy.

# %%
OVERWRITES = [
    "device=sata", "workload=constant", "workload.read=0", "workload.insert=0", "workload.update=1", "workload.num=1M",
    "workload.value_size=400", "workload.rate=12000", "workload.duration=300s",
]  # fmt: skip
full = {name: lsmlab.run([f"engine={name.lower()}", *OVERWRITES], progress=False) for name in ("LevelDB", "LDC")}
assert full["LevelDB"].summary["stalls"] == full["LDC"].summary["stalls"] == 0
assert full["LevelDB"].summary["write_amplification"] > 1.2 * udc.summary["write_amplification"]
half = lsmlab.run(["engine=leveldb", *OVERWRITES, "workload.duration=150s"], progress=False)
assert abs(half.summary["write_amplification"] / full["LevelDB"].summary["write_amplification"] - 1) < 0.03
drive = lsmlab.configure("device=kingston_dc600m")["device"]
endurance = parse_quantity(drive["endurance"], "bytes")
USER_BYTES_PER_S, YEAR_S = 5_000_000, 365.25 * 86400


def years(run):
    """Return the years until flushes and compactions have written what the maker of the drive promises."""
    return endurance / (USER_BYTES_PER_S * run.summary["write_amplification"]) / YEAR_S


# %% [markdown]
# ## Wear
#
# The runs above filled an empty store, which is too short to say how a drive wears: the deep levels are not full yet.
# So take stores that are full, in which a million records are overwritten for five minutes.[^full] LevelDB then has a
# write amplification of {{ full["LevelDB"].write_amplification | ratio }}, more than during the fill.[^fill]
#
# The maker of a SATA SSD of {{ drive.capacity }} promises {{ drive.endurance }} of writes.[^endurance] Users write
# {{ USER_BYTES_PER_S | rate }}, day and night.

# %%
course.predict("years", "After how many years has LevelDB written what the maker promises?", unit="years", guess=None)

# %%
course.reveal("years", years(full["LevelDB"]))

# %% [markdown]
# Every byte of a user becomes {{ full["LevelDB"].write_amplification | ratio }} bytes on the drive.[^wear] With LDC
# the drive lasts {{ full["LevelDB"].write_amplification / full["LDC"].write_amplification | ratio }} times as long,
# with files of {{ full["LDC"].space_amplification | ratio }} instead of
# {{ full["LevelDB"].space_amplification | ratio }} bytes per live byte. Write amplification is not only a matter of
# speed: it is the price list of the drive.

# %% [markdown]
# ## Predict your own laptop
#
# All devices of the lessons are data sheets. `lsmlab measure` measures the drive and the cores of the machine in front of
# you.[^measure] First guess what the store of a lesson does here. Then predict it with `machine=machine.yaml`, and record it with
# `lsmlab course real`. Which was further off, the guess or the prediction, and do two recordings agree better?[^measure]
