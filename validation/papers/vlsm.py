"""Claims of the vLSM paper, and ablations that separate the causes of its results.

See (behaviour/evaluations.md, vLSM's evaluation) and (background/vlsm.md, Arithmetic).
"""

from __future__ import annotations

from typing import Final

from lsmlab.validation.papers.claim import Claim, Setting
from lsmlab.validation.papers.claim_data import claim
from lsmlab.validation.papers.vlsm_measures import (
    chain_bytes,
    chain_levels,
    core_s_per_op,
    difference,
    good_share,
    io_amplification,
    longest_s,
    mean_chain_bytes,
    of,
    p99,
    p99_s,
    rate,
    ratio,
    reduction,
    seconds_per_byte,
    stall_share,
    stalled_s,
)

PAPER: Final = "vlsm"
LOAD: Final = "experiment=vlsm_load_a"
RUN: Final = "experiment=vlsm_run_a"
UPDATES: Final = (
    RUN, "workload.readproportion=0", "workload.updateproportion=1", "workload.operationcount=40M", "workload.target=null"
)  # fmt: skip
"""Overrides for sweeps and ablations: updates only, on the full tree, clients at full speed; a tenth of the cost of
Load A."""
IO: Final = "engine=rocksdb_io"
OPTIONS: Final = "engine.options"


def unit(mib: int) -> tuple[str, ...]:
    """Return overrides for memtables and SST files of another size, with the same number of files in L0."""
    return f"{OPTIONS}.write_buffer_size={mib}MiB", f"{OPTIONS}.target_file_size_base={mib}MiB"


def sst(mib: int, l0_mib: int = 256) -> tuple[str, ...]:
    """Return overrides for memtables and SST files of another size, with the same limit for the bytes in L0."""
    files = l0_mib // mib
    limits = (f"{OPTIONS}.level0_slowdown_writes_trigger={files}", f"{OPTIONS}.level0_stop_writes_trigger={files}")
    return (*unit(mib), *limits, f"{OPTIONS}.level0_file_num_compaction_trigger={files}")


def _vlsm(name: str, *more: str) -> Setting:
    return Setting(name, (*UPDATES, "engine=vlsm", *more))


IO_LOAD = Setting("rocksdb_io_load_a", (LOAD, IO))
IO_LOAD_60 = Setting("rocksdb_io_load_a_60", (LOAD, IO, "workload.target=60000"))
IO_PROFILE = Setting("rocksdb_io_load_a_profile", (LOAD, IO, "workload.target=null"))
VLSM_LOAD = Setting("vlsm_load_a", (LOAD, "engine=vlsm"))
VLSM_LOAD_OWN = Setting("vlsm_load_a_own", (LOAD, "engine=vlsm", "workload.target=154000"))
"""vLSM at 95 % of its sustainable rate (162 K/s in the second half of the profiling run)."""
VLSM_PROFILE = Setting("vlsm_load_a_profile", (LOAD, "engine=vlsm", "workload.target=null"))
ADOC_LOAD = Setting("adoc_load_a", (LOAD, "engine=adoc", "engine/picker=overflow",
                                    f"{OPTIONS}.level0_slowdown_writes_trigger=5", f"{OPTIONS}.level0_stop_writes_trigger=5",
                                    f"{OPTIONS}.level_compaction_dynamic_level_bytes=false"))  # fmt: skip
IO_RUN = Setting("rocksdb_io_run_a", (RUN, IO))
VLSM_RUN = Setting("vlsm_run_a", (RUN, "engine=vlsm"))
IO_RUN_PROFILE = Setting("rocksdb_io_run_a_profile", (RUN, IO, "workload.target=null"))
VLSM_RUN_PROFILE = Setting("vlsm_run_a_profile", (RUN, "engine=vlsm", "workload.target=null"))
READS: Final = (RUN, "workload.readproportion=1", "workload.updateproportion=0", "workload.operationcount=10M",
                "workload.target=100000")  # fmt: skip
IO_READS = Setting("rocksdb_io_reads", (*READS, IO))
VLSM_READS = Setting("vlsm_reads", (*READS, "engine=vlsm"))
IO_LOAD_8 = Setting("rocksdb_io_load_a_profile_sst_8", (LOAD, IO, "workload.target=null", *sst(8)))
IO_64 = Setting("rocksdb_io_sst_64", (*UPDATES, IO, *sst(64)))
VLSM_2, VLSM_4, VLSM_8, VLSM_64 = (_vlsm(f"vlsm_sst_{n}", *unit(n)) for n in (2, 4, 8, 64))
IO_ZIPF = Setting("rocksdb_io_zipf", (*UPDATES, IO, "workload.requestdistribution=zipfian"))
VLSM_ZIPF = _vlsm("vlsm_zipf", "workload.requestdistribution=zipfian")
TIGHT: Final = "engine.picker.overflow_limit=0"
"""Override that keeps L1 at its target; with an overflow of 64 MiB, Φ would be half of the value in the setting's
name."""
PHI_32 = _vlsm("vlsm_phi_32", *unit(8), TIGHT)
PHI_64 = _vlsm("vlsm_phi_64", *unit(4), TIGHT)
PHI_128 = _vlsm("vlsm_phi_128", *unit(2), TIGHT)
BY_RATIO: Final = ("engine/picker=vlsm_ratio", "engine/cutter=vsst_ratio")
RATIO_16 = _vlsm("vlsm_ratio_phi_16", *unit(16), TIGHT, *BY_RATIO)
NO_VSST = _vlsm("vlsm_no_vsst", *unit(8), "engine/cutter=fixed")
NO_PHI = _vlsm("vlsm_no_phi", *unit(8), "engine/picker=vlsm_no_phi")
LSMI = Setting("lsmi", (*UPDATES, "engine=lsmi", *unit(8)))
LSMI_256 = Setting("lsmi_l1_256", (*UPDATES, "engine=lsmi", *unit(8), "engine.picker.l1_capacity=256MiB"))


def _latency_claims() -> tuple[Claim, ...]:
    load, run = (IO_LOAD, VLSM_LOAD), (IO_RUN, VLSM_RUN)
    write_load = p99("write", IO_LOAD.name, VLSM_LOAD.name)
    write_run, read_run = p99("write", IO_RUN.name, VLSM_RUN.name), p99("read", IO_RUN.name, VLSM_RUN.name)
    return (
        claim("vlsm.load_a.p99_write", load, write_load),
        claim("vlsm.load_a.p99_write_8mb", load, write_load),
        claim("vlsm.load_a.p99_write_own_rates", (IO_LOAD, VLSM_LOAD_OWN), p99("write", IO_LOAD.name, VLSM_LOAD_OWN.name)),
        claim("vlsm.run_a.p99_write", run, write_run),
        claim("vlsm.run_a.p99_read", run, read_run),
        claim("vlsm.slsm.load_a.p99_write", load, write_load),
        claim("vlsm.slsm.run_a.p99_write", run, write_run),
        claim("vlsm.slsm.run_a.p99_read", run, read_run),
        claim("vlsm.rocksdb.p99_at_60", (IO_LOAD_60,), p99_s("write", IO_LOAD_60.name)),
        claim("vlsm.read_only.p99_read", (IO_READS, VLSM_READS), p99("read", VLSM_READS.name, IO_READS.name)),
    )  # fmt: skip


def _stall_claims() -> tuple[Claim, ...]:
    load = (IO_LOAD, VLSM_LOAD)
    return (
        claim("vlsm.rocksdb.stall_share", (IO_PROFILE,), of(IO_PROFILE.name, stall_share)),
        claim("vlsm.rocksdb.sustainable", (IO_PROFILE,), of(IO_PROFILE.name, rate)),
        claim("vlsm.load_a.stall_time", load, reduction(VLSM_LOAD.name, IO_LOAD.name, stalled_s)),
        claim("vlsm.load_a.longest_stall", load, ratio(IO_LOAD.name, VLSM_LOAD.name, longest_s)),
        claim("vlsm.load_a.stall_time_full_speed", (IO_PROFILE, VLSM_PROFILE),
              reduction(VLSM_PROFILE.name, IO_PROFILE.name, stall_share)),
        claim("vlsm.load_a.longest_stall_own_rates", (IO_LOAD, VLSM_LOAD_OWN),
              ratio(IO_LOAD.name, VLSM_LOAD_OWN.name, longest_s)),
        claim("vlsm.load_a.longest_stall_s", (VLSM_PROFILE,), of(VLSM_PROFILE.name, longest_s)),
        claim("vlsm.rocksdb.longest_stall_s", (IO_LOAD,), of(IO_LOAD.name, longest_s)),
        claim("vlsm.rocksdb.stall_flat", (IO_LOAD_8, IO_PROFILE), ratio(IO_LOAD_8.name, IO_PROFILE.name, stalled_s)),
        claim("vlsm.stall_length_by_sst", (VLSM_8, VLSM_64), ratio(VLSM_64.name, VLSM_8.name, longest_s)),
        claim("vlsm.stall_time_by_sst", (VLSM_8, VLSM_64), ratio(VLSM_64.name, VLSM_8.name, stalled_s)),
        claim("vlsm.stall_by_chain", (IO_PROFILE, VLSM_PROFILE), ratio(IO_PROFILE.name, VLSM_PROFILE.name, seconds_per_byte)),
        claim("vlsm.rocksdb.chain_bytes", (IO_LOAD,), of(IO_LOAD.name, mean_chain_bytes)),
        claim("vlsm.chain_bytes", (VLSM_PROFILE,), of(VLSM_PROFILE.name, chain_bytes)),
    )  # fmt: skip


def _work_claims() -> tuple[Claim, ...]:
    load = (IO_LOAD, VLSM_LOAD)
    adoc = (IO_LOAD, ADOC_LOAD)
    return (
        claim("vlsm.rocksdb.io_amplification", (IO_LOAD,), of(IO_LOAD.name, io_amplification)),
        claim("vlsm.load_a.io_amplification", load, ratio(VLSM_LOAD.name, IO_LOAD.name, io_amplification)),
        claim("vlsm.zipf.io_amplification", (IO_ZIPF, VLSM_ZIPF), ratio(VLSM_ZIPF.name, IO_ZIPF.name, io_amplification)),
        claim("vlsm.load_a.sustainable", (IO_PROFILE, VLSM_PROFILE), ratio(VLSM_PROFILE.name, IO_PROFILE.name, rate)),
        claim("vlsm.run_a.throughput", (IO_RUN_PROFILE, VLSM_RUN_PROFILE),
              ratio(VLSM_RUN_PROFILE.name, IO_RUN_PROFILE.name, rate)),
        claim("vlsm.adoc.stall_time", adoc, reduction(ADOC_LOAD.name, IO_LOAD.name, stalled_s)),
        claim("vlsm.adoc.io_amplification", adoc, ratio(ADOC_LOAD.name, IO_LOAD.name, io_amplification)),
        claim("vlsm.small_sst.cpu", (VLSM_4, VLSM_8), ratio(VLSM_4.name, VLSM_8.name, core_s_per_op)),
        claim("vlsm.small_sst.throughput", (VLSM_2, VLSM_8), ratio(VLSM_2.name, VLSM_8.name, rate)),
    )  # fmt: skip


def _ablations() -> tuple[Claim, ...]:
    return (
        claim("vlsm.phi_32.good", (PHI_32,), good_share(PHI_32.name)),
        claim("vlsm.phi_64.good", (PHI_64,), good_share(PHI_64.name)),
        claim("vlsm.phi_128.good", (PHI_128,), good_share(PHI_128.name)),
        claim("vlsm.ratio_16.good", (RATIO_16,), good_share(RATIO_16.name)),
        claim("vlsm.no_vsst.io_amplification", (VLSM_8, NO_VSST), ratio(NO_VSST.name, VLSM_8.name, io_amplification)),
        claim("vlsm.no_phi.levels", (VLSM_8, NO_PHI), difference(NO_PHI.name, VLSM_8.name, chain_levels)),
        claim("vlsm.lsmi.io_amplification", (VLSM_8, LSMI_256), ratio(LSMI_256.name, VLSM_8.name, io_amplification)),
        claim("vlsm.lsmi.levels", (IO_64, LSMI), difference(LSMI.name, IO_64.name, chain_levels)),
    )  # fmt: skip


CLAIMS: Final = (*_latency_claims(), *_stall_claims(), *_work_claims(), *_ablations())
