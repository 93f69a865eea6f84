# ---
# title: Lower-level driven compaction, devices and wear
# aim: You learn a second way to make compactions small, what the device contributes to a stall, and how long a drive lives.
# invariants:
#   - Upper-level driven compaction moves a file down at once and rewrites every file that it overlaps.
#   - Lower-level driven compaction links first and rewrites a lower file only when enough bytes have come together.
#   - A flash drive endures a certain number of written bytes, and write amplification uses them up.
# ---

# %% [markdown]
# ## The picture
#
# LevelDB moves a file of b bytes down and rewrites the k files that it overlaps: about k times b bytes. LDC freezes the
# file and links a *slice* of it to each file below; no bytes move. When a lower file has as many slices as the multiplier
# of the levels, it is rewritten together with them. The slices are about as large as the file, or larger, so a byte
# that moves down costs about two written bytes, or fewer.

# %%
import lsmlab
from lsmlab import course
from lsmlab.models.units import parse_quantity

FILL = ["device=sata", "workload.num=2M", "workload.value_size=400", "workload.duration=30s"]
udc = lsmlab.run(["engine=leveldb", *FILL], progress=False)
ldc = lsmlab.run(["engine=ldc", *FILL], progress=False)
course.rewrites(
    {"LevelDB": udc, "LDC": ldc},
    "One typical compaction below L1 of each store, a box for each file or slice: what moves down, and what is rewritten "
    "with it.",
)

# %% [markdown]
# LevelDB fills a store on a SATA SSD with {{ udc.ops_per_s | count }} writes per second in a closed loop. Its write
# amplification is {{ udc.write_amplification | ratio }}.

# %%
course.predict("ldc", "How many writes per second does the same store do with LDC?", unit="writes / s", guess=None)

# %%
assert ldc.summary["ops_per_s"] > 1.2 * udc.summary["ops_per_s"]  # the text relies on it
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
# {{ ldc.write_amplification | ratio }}. The price is space, {{ ldc.space_amplification | ratio }} instead of
# {{ udc.space_amplification | ratio }} bytes per live byte, because frozen files wait for their last slice; and scans, which
# have to look into every slice.
#
# ## The device

# %%
DEVICES = ["hdd", "sata", "nvme"]
on = {
    name: lsmlab.run(
        [
            f"device={name}",
            "workload.num=2M",
            "workload.value_size=400",
            "workload.duration=20s",
            "engine.options.write_buffer_size=8MiB",
        ],
        progress=False,
    )
    for name in DEVICES
}
busy = [100 * on[name].summary["device"]["utilisation"] for name in DEVICES]

# %%
course.predict(
    "busy",
    "RocksDB with default jobs and memtables of 8 MiB runs on a hard disk, a SATA SSD and an NVMe drive. On which does the "
    "client wait for the device least?",
    choices=DEVICES,
    unit="% of the time in which the device is busy",
    guess=None,
)

# %%
assert busy[2] < 50 < 80 < busy[0]  # the text relies on it
course.reveal("busy", "abc"[busy.index(min(busy))], values=busy)

# %%
course.stacked(
    {name: {c.replace("_", " "): s for c, s in on[name].summary["stall_seconds"].items() if s} for name in DEVICES},
    title="Seconds in stalls by cause",
    unit="s",
    caption="One bar per device: seconds of the run in which writers were held back.",
)

# %% [markdown]
# A faster device moves the bottleneck. On the hard disk it is, in the words of the summary:
# *{{ on["hdd"].bottleneck.text }}.* On the NVMe drive it is: *{{ on["nvme"].bottleneck.text }}.* The hard disk is
# {{ busy[0] / 100 | percent }} busy, the NVMe drive {{ busy[2] / 100 | percent }}, and its writers are still held back for
# {{ on["nvme"].stall_fraction | percent }} of the time. There, more bandwidth buys nothing.
#
# ## Wear

# %%
drive = lsmlab.configure("device=kingston_dc600m")["device"]
endurance = parse_quantity(drive["endurance"], "bytes")
USER_BYTES_PER_S, YEAR_S = 5_000_000, 365.25 * 86400


def years(run):
    """Return the years until flushes and compactions have written what the maker of the drive promises."""
    return endurance / (USER_BYTES_PER_S * run.summary["write_amplification"]) / YEAR_S


# %% [markdown]
# The maker of a SATA SSD of {{ drive.capacity }} promises {{ drive.endurance }} of writes. Users write
# {{ USER_BYTES_PER_S | rate }}, day and night.

# %%
course.predict("years", "After how many years has LevelDB written what the maker promises?", unit="years", guess=None)

# %%
course.reveal("years", years(udc))

# %% [markdown]
# Every byte of a user becomes {{ udc.write_amplification | ratio }} bytes on the drive, log not counted. With LDC the
# drive lasts {{ udc.write_amplification / ldc.write_amplification | ratio }} times as long. Write amplification is not only
# a matter of speed: it is the price list of the drive.
