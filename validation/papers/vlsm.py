"""vLSM's published outcomes, its open tension, and ablations that separate reasons.

See (behaviour/evaluations.md, vLSM's evaluation) and (background/vlsm.md, Arithmetic).
"""

from __future__ import annotations

from typing import Final

from lsmlab.validation.papers.claim import Claim, Setting
from lsmlab.validation.papers.vlsm_measures import (
    chain_bytes,
    chain_levels,
    core_s_per_op,
    difference,
    good_share,
    io_amplification,
    less,
    longest_s,
    of,
    p99,
    p99_s,
    rate,
    ratio,
    seconds_per_byte,
    stall_share,
    stalled_s,
)

PAPER: Final = "vlsm"
CITATION: Final = (
    "Xanthakis, Katsarakis, Saloustros, Bilas: vLSM: Low tail latency and I/O amplification in LSM-based KV stores. "
    "arXiv 2407.15581, 2024"
)
LOAD: Final = "experiment=vlsm_load_a"
RUN: Final = "experiment=vlsm_run_a"
UPDATES: Final = (
    RUN, "workload.readproportion=0", "workload.updateproportion=1", "workload.operationcount=40M", "workload.target=null"
)  # fmt: skip
"""Updates alone on the full tree, clients at full speed: for sweeps and ablations, at a tenth of the cost of Load A."""
IO: Final = "engine=rocksdb_io"
OPTIONS: Final = "engine.options"


def sst(mib: int, l0_mib: int = 256, trigger: bool = False) -> tuple[str, ...]:
    """Overrides for memtables and SSTs of another size, with as many bytes in L0 as before."""
    files = l0_mib // mib
    sizes = (f"{OPTIONS}.write_buffer_size={mib}MiB", f"{OPTIONS}.target_file_size_base={mib}MiB")
    limits = (f"{OPTIONS}.level0_slowdown_writes_trigger={files}", f"{OPTIONS}.level0_stop_writes_trigger={files}")
    return (*sizes, *limits, *((f"{OPTIONS}.level0_file_num_compaction_trigger={files}",) if trigger else ()))


def _vlsm(name: str, *more: str) -> Setting:
    return Setting(name, (*UPDATES, "engine=vlsm", *more))


IO_LOAD = Setting("rocksdb_io_load_a", (LOAD, IO))
IO_LOAD_60 = Setting("rocksdb_io_load_a_60", (LOAD, IO, "workload.target=60000"))
IO_PROFILE = Setting("rocksdb_io_load_a_profile", (LOAD, IO, "workload.target=null"))
VLSM_LOAD = Setting("vlsm_load_a", (LOAD, "engine=vlsm"))
VLSM_LOAD_OWN = Setting("vlsm_load_a_own", (LOAD, "engine=vlsm", "workload.target=158000"))
"""At 95 % of its own sustainable rate, 166 K/s in the last half of the profiling run."""
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
IO_LOAD_8 = Setting("rocksdb_io_load_a_profile_sst_8", (LOAD, IO, "workload.target=null", *sst(8, trigger=True)))
IO_64 = Setting("rocksdb_io_sst_64", (*UPDATES, IO, *sst(64, trigger=True)))
VLSM_2, VLSM_4, VLSM_8, VLSM_64 = (_vlsm(f"vlsm_sst_{n}", *sst(n)) for n in (2, 4, 8, 64))
IO_ZIPF = Setting("rocksdb_io_zipf", (*UPDATES, IO, "workload.requestdistribution=zipfian"))
VLSM_ZIPF = _vlsm("vlsm_zipf", "workload.requestdistribution=zipfian")
TIGHT: Final = "engine.picker.overflow_limit=0"
"""L1 at its target: with 64 MiB more, Φ is half of what its name says."""
PHI_32 = _vlsm("vlsm_phi_32", *sst(8), TIGHT)
PHI_64 = _vlsm("vlsm_phi_64", *sst(4), TIGHT)
PHI_128 = _vlsm("vlsm_phi_128", *sst(2), TIGHT)
BY_RATIO: Final = ("engine/picker=vlsm_ratio", "engine/cutter=vsst_ratio")
RATIO_16 = _vlsm("vlsm_ratio_phi_16", *sst(16), TIGHT, *BY_RATIO)
NO_VSST = _vlsm("vlsm_no_vsst", *sst(8), "engine/cutter=fixed")
NO_PHI = _vlsm("vlsm_no_phi", *sst(8), "engine/picker=vlsm_no_phi")
LSMI = Setting("lsmi", (*UPDATES, "engine=lsmi", *sst(8)))
LSMI_256 = Setting("lsmi_l1_256", (*UPDATES, "engine=lsmi", *sst(8), "engine.picker.l1_capacity=256MiB"))

EFFECT: Final = "the figure, 25 % of the effect either way"
STATED: Final = "the statement"
RUN_A: Final = (
    "vLSM sustains more than these 103 K writes/s: its L0 queue stays at a file or two, over 350 M operations as over 70 M, "
    "and its writers never stop. RocksDB-IO is at its limit."
)
QUEUE: Final = "a stall as long as its chain holds up everything that arrives meanwhile; vLSM's chains are some 120 MB, not GBs"
ROOM: Final = (
    "vLSM sustains 1.6 times RocksDB-IO's rate, with a queue of 36 files before its memtables, so that at 95 % of either rate "
    "it never stalls and its P99 is an unstalled write: the ratio says how long RocksDB-IO stalls, four shards one after "
    "the other."
)
NEVER: Final = (
    "Writers stop neither with S_M = 64 nor with 8 MB, in these 40 M updates or in Load A at full speed: there is nothing to "
    "compare. Below that stalls grow, against the paper's words, as amplification does: 28 % of Load A at 4 MB."
)
BYTES: Final = (
    "Written per user byte into L1, L2 and L3, RocksDB-IO: 1 + 8.4 + 2.8 (greedy picks halve the f + 1 of a level, and a fifth "
    "moves to L3 unread). vLSM: (S_M + |L1|) / S_M, because L1 is rewritten for every S_M, a quarter to a half of Φ, because a "
    "byte of L1 faces Φ bytes of L2, and 2.5. With an L1 of up to 64 MB + 64 MB of overflow limit that is 17 + 9.5 + 2.5, with "
    "the limit at 0 it is 7.5 + 18 + 4.5 (updates of a full tree). All simulated; with the flush it is 30 against 13."
)


def _latency_claims() -> tuple[Claim, ...]:
    load, run = (IO_LOAD, VLSM_LOAD), (IO_RUN, VLSM_RUN)
    write_load = p99("write", IO_LOAD.name, VLSM_LOAD.name)
    write_run, read_run = p99("write", IO_RUN.name, VLSM_RUN.name), p99("read", IO_RUN.name, VLSM_RUN.name)
    rule = f"Both at 95 % of what the slower one sustains, RocksDB-IO as in the paper. {ROOM}"
    return (
        Claim("vlsm.load_a.p99_write", "Load A, RocksDB-IO / vLSM", 5.2, (4.15, 6.25), 1.0, load, write_load, QUEUE, rule,
              EFFECT),
        Claim("vlsm.load_a.p99_write_8mb", "Load A, 4 shards, S_M = 8 MB, RocksDB-IO / vLSM", 4.23, (3.42, 5.04), 1.0, load,
              write_load, QUEUE, rule, EFFECT),
        Claim("vlsm.load_a.p99_write_own_rates", "Load A, each at its own rate, RocksDB-IO / vLSM", 5.2, (4.15, 6.25), 1.0,
              (IO_LOAD, VLSM_LOAD_OWN), p99("write", IO_LOAD.name, VLSM_LOAD_OWN.name), QUEUE,
              f"RocksDB-IO at 89 K/s, vLSM at 158 K/s. {ROOM}", EFFECT),
        Claim("vlsm.run_a.p99_write", "Run A, RocksDB-IO / vLSM", 4.8, (3.85, 5.75), 1.0, run, write_run, QUEUE, RUN_A, EFFECT),
        Claim("vlsm.run_a.p99_read", "Run A, RocksDB-IO / vLSM", 12.5, (9.6, 15.4), 1.0, run, read_run,
              "reads wait behind blocked writes in the clients' queue, whatever their own path costs", RUN_A, EFFECT),
        Claim("vlsm.slsm.load_a.p99_write", "Load A, RocksDB-IO / sLSM (= vLSM)", 4.5, (3.6, 5.4), 1.0, load, write_load, QUEUE,
              rule, EFFECT),
        Claim("vlsm.slsm.run_a.p99_write", "Run A, RocksDB-IO / sLSM", 4.8, (3.85, 5.75), 1.0, run, write_run, QUEUE, RUN_A,
              EFFECT),
        Claim("vlsm.slsm.run_a.p99_read", "Run A, reads, RocksDB-IO / sLSM", 12.5, (9.6, 15.4), 1.0, run, read_run, QUEUE, RUN_A,
              EFFECT),
        Claim("vlsm.rocksdb.p99_at_60", "Load A, RocksDB-IO at 60 % of its rate, s", "seconds", (1.0, 10.0), 1e-3, (IO_LOAD_60,),
              p99_s("write", IO_LOAD_60.name), "the chain of one shard stops the writers of all",
              "Each shard's chain stops the writers for 9 s; four shards one after the other queue up what arrives in up to "
              "40 s.",
              STATED),
        Claim("vlsm.read_only.p99_read", "reads alone, vLSM / RocksDB-IO", "no difference", (0.75, 1.25), 1.0,
              (IO_READS, VLSM_READS), p99("read", VLSM_READS.name, IO_READS.name),
              "the same levels and filters: nothing stalls", "", STATED),
    )  # fmt: skip


def _stall_claims() -> tuple[Claim, ...]:
    load = (IO_LOAD, VLSM_LOAD)
    return (
        Claim("vlsm.rocksdb.stall_share", "Load A, RocksDB-IO, share of the time", 0.40, (0.30, 0.50), 0.0, (IO_PROFILE,),
              of(IO_PROFILE.name, stall_share), "a batch of L0 waits for its whole chain, writers for the batch",
              "Not calibrated: CPU costs are those of host=default.",
              EFFECT),
        Claim("vlsm.rocksdb.sustainable", "Load A, RocksDB-IO, writes/s", 100_000, (95_000, 105_000), 0.0, (IO_PROFILE,),
              of(IO_PROFILE.name, rate), "calibrated: the number that the parameter set is fitted to", "", "calibration: 5 %"),
        Claim("vlsm.load_a.stall_time", "Load A, 1 - vLSM / RocksDB-IO, same rate", 0.6, (0.45, 0.75), 0.0, load,
              less(VLSM_LOAD.name, IO_LOAD.name, stalled_s), "a queue of files takes what one thin chain at a time holds up",
              ROOM, EFFECT),
        Claim("vlsm.load_a.longest_stall", "Load A, RocksDB-IO / vLSM", 5.0, (4.0, 6.0), 1.0, load,
              ratio(IO_LOAD.name, VLSM_LOAD.name, longest_s), "a stall is as long as the chain behind it", ROOM, EFFECT),
        Claim("vlsm.load_a.stall_time_own_rates", "Load A, each at its own rate, 1 - vLSM / RocksDB-IO", 0.6, (0.45, 0.75),
              0.0, (IO_LOAD, VLSM_LOAD_OWN), less(VLSM_LOAD_OWN.name, IO_LOAD.name, stall_share), "shares of the time: the "
              "rates differ", ROOM, EFFECT),
        Claim("vlsm.load_a.longest_stall_own_rates", "Load A, each at its own rate, RocksDB-IO / vLSM", 5.0, (4.0, 6.0), 1.0,
              (IO_LOAD, VLSM_LOAD_OWN), ratio(IO_LOAD.name, VLSM_LOAD_OWN.name, longest_s),
              "a stall is as long as the chain behind it", ROOM, EFFECT),
        Claim("vlsm.load_a.longest_stall_s", "Load A, vLSM at full speed, s", "about 1", (0.5, 2.0), 0.0, (VLSM_PROFILE,),
              of(VLSM_PROFILE.name, longest_s), "one L0 -> L1 of some 130 MB, and at worst an L1 -> L2 before it",
              "130 MB take 0.5 s; two memtables of 8 MB take writes for 0.2 to 0.4 s of it.",
              "order of 1 s"),
        Claim("vlsm.rocksdb.longest_stall_s", "Load A, RocksDB-IO, s", "4 to 5", (3.0, 6.25), 0.0, (IO_LOAD,),
              of(IO_LOAD.name, longest_s), "a batch of 256 MB through every level, one file at a time",
              "3 GB written at 330 MB/s are 9 s for one shard, 13 s where two stall one after the other. 40 % of the time at 4 "
              "to 5 s for each 256 MB of a shard would be four shards that never stall together.", "25 %"),
        Claim("vlsm.rocksdb.stall_flat", "stalled time, Load A at full speed, SST 8 MB / 64 MB, same |L0| and |L1|", "flat",
              (0.75, 1.25), 1.0, (IO_LOAD_8, IO_PROFILE), ratio(IO_LOAD_8.name, IO_PROFILE.name, stalled_s),
              "the batch is |L0|, whatever the SST size",
              "It is flat shard by shard: their stalls add up to 2,440 s with 8 MB and 2,530 s with 64 MB. But clients of all "
              "shards wait for one, and those of large memtables stall together more often: 2,150 s against 1,350 s in "
              "which nobody writes.", STATED),
        Claim("vlsm.stall_length_by_sst", "longest stall, S_M = 64 MB / 8 MB", "grows with S_M", (2.0, 16.0), 1.0,
              (VLSM_8, VLSM_64), ratio(VLSM_64.name, VLSM_8.name, longest_s), "one S_M goes through each level",
              NEVER, STATED),
        Claim("vlsm.stall_time_by_sst", "stalled time, S_M = 64 MB / 8 MB", "falls with S_M", (1.25, 16.0), 1.0,
              (VLSM_8, VLSM_64), ratio(VLSM_64.name, VLSM_8.name, stalled_s), "the queue takes more, and thinner chains",
              NEVER, STATED),
        Claim("vlsm.stall_by_chain", "stalled s per chain byte, RocksDB-IO / vLSM, Load A at full speed", "proportional",
              (0.5, 2.0), 1.0, (IO_PROFILE, VLSM_PROFILE), ratio(IO_PROFILE.name, VLSM_PROFILE.name, seconds_per_byte),
              "the serial strand has one bandwidth",
              "vLSM has 15 stalls here, of 0.1 s: ends of chains that its memtables had nearly outlasted. Where it stalls for a "
              "fifth of the time or more (S_M = 2 and 4 MB) it is 1.2 to 1.7.", STATED),
        Claim("vlsm.rocksdb.chain_bytes", "Load A, RocksDB-IO, longest chain, bytes", 10e9, (7.5e9, 12.5e9), 0.0, (IO_LOAD,),
              of(IO_LOAD.name, chain_bytes), "bytes of the compactions that ran, one because of the other, during a stall",
              "The paper's arithmetic "
              "moves |L0| x f = 2 GB through each of five full levels. But a chain is all the work for one batch: I/O "
              "amplification x 256 MB. At the published 26 that is 6.7 GB read and written, 3.3 GB of it written; 10 GB would "
              "be an amplification of 80. There are three levels below L0, and greedy picks move half of f.", EFFECT),
        Claim("vlsm.chain_bytes", "Load A, vLSM at full speed, longest chain, bytes", "0.16 to 0.32 GB", (0.1e9, 0.9e9), 0.0,
              (VLSM_PROFILE,), of(VLSM_PROFILE.name, chain_bytes), "S_M + |L1|, then S_M of vSSTs and their files of L2", "",
              "tenths of a GB"),
    )  # fmt: skip


def _work_claims() -> tuple[Claim, ...]:
    load = (IO_LOAD, VLSM_LOAD)
    adoc = (IO_LOAD, ADOC_LOAD)
    return (
        Claim("vlsm.rocksdb.io_amplification", "Load A, RocksDB-IO, bytes moved per byte written", 26.0, (19.75, 32.25), 0.0,
              (IO_LOAD,), of(IO_LOAD.name, io_amplification), "reads and writes of flushes and compactions", "", EFFECT),
        Claim("vlsm.load_a.io_amplification", "Load A, vLSM / RocksDB-IO", "the same", (0.75, 1.25), 1.0, load,
              ratio(VLSM_LOAD.name, IO_LOAD.name, io_amplification), "does not follow from the rules", BYTES, STATED),
        Claim("vlsm.zipf.io_amplification", "skewed updates, vLSM / RocksDB-IO", "the same", (0.75, 1.25), 1.0,
              (IO_ZIPF, VLSM_ZIPF), ratio(VLSM_ZIPF.name, IO_ZIPF.name, io_amplification), "as with uniform keys",
              f"{BYTES} Overwrites save RocksDB-IO more: its memtables flush 0.64 of the bytes, vLSM's, an eighth as large, "
              "0.73, and L1 is rewritten for files that are shorter by what they dropped.", STATED),
        Claim("vlsm.load_a.sustainable", "Load A, vLSM / RocksDB-IO", 1.94, (1.7, 2.18), 1.0, (IO_PROFILE, VLSM_PROFILE),
              ratio(VLSM_PROFILE.name, IO_PROFILE.name, rate), "its writers do not stop",
              "Whoever stalls for 40 % of the time gains 1 / 0.6 = 1.67 times its rate from never stalling, with the same "
              "clients; 1.94 would take 48 %. vLSM comes to that bound.", EFFECT),
        Claim("vlsm.run_a.throughput", "Run A, vLSM / RocksDB-IO", 2.0, (1.75, 2.25), 1.0, (IO_RUN_PROFILE, VLSM_RUN_PROFILE),
              ratio(VLSM_RUN_PROFILE.name, IO_RUN_PROFILE.name, rate), "clients at full speed wait for reads",
              "Outside its stalls RocksDB-IO serves 330 K/s here, vLSM 246 K/s: reads take 1.3 to 1.7 times as long beside its "
              "compactions, which move twice the bytes. In the first 300 s RocksDB-IO stalls for 30 % of the time.", EFFECT),
        Claim("vlsm.adoc.stall_time", "Load A, 1 - ADOC / RocksDB-IO", "as vLSM: -60 %", (0.45, 1.0), 0.0, adoc,
              less(ADOC_LOAD.name, IO_LOAD.name, stalled_s),
              "nothing overflows, so ADOC stays at two threads and 64 MB: the overflow limit alone does it",
              "RocksDB with the same limit (rocksdb_overflow) sustains 164 K/s: L1 -> L2 begins while L0 fills, not when it is "
              "full.", STATED),
        Claim("vlsm.adoc.io_amplification", "Load A, ADOC / RocksDB-IO", 1.77, (1.58, 1.96), 1.0, adoc,
              ratio(ADOC_LOAD.name, IO_LOAD.name, io_amplification), "nothing overflows, so ADOC stays at two threads and 64 MB",
              "It writes 1.2 + 6.8 + 2.6 into L1, L2 and L3, RocksDB-IO 1 + 8.4 + 2.8: with 64 MB to spare, picks are better. "
              "46 cannot come out with three levels below L0: picks without any choice make it 1 + 2 + 9 + 9 written, 41 read "
              "and written; larger batches make it less.",
              "46 against 26; " + EFFECT),
        Claim("vlsm.small_sst.cpu", "background core time per operation, S_M = 4 MB / 8 MB", "rises", (1.05, 3.0), 1.0,
              (VLSM_4, VLSM_8), ratio(VLSM_4.name, VLSM_8.name, core_s_per_op), "L1 and its overlap limit weigh more per S_M", "",
              STATED),
        Claim("vlsm.small_sst.throughput", "S_M = 2 MB / 8 MB", "collapses", (0.0, 0.6), 1.0, (VLSM_2, VLSM_8),
              ratio(VLSM_2.name, VLSM_8.name, rate), "Φ is 128 there, and jobs and files cost what they cost", "", STATED),
    )  # fmt: skip


def _ablations() -> tuple[Claim, ...]:
    return (
        Claim("vlsm.phi_32.good", "share of picks with good vSSTs alone, Φ = 32", "always found", (0.95, 1.0), 0.5, (PHI_32,),
              good_share(PHI_32.name), "8 files of L2 lie below S_M / 4 of L1: above S_m = S_M / 8", "", STATED),
        Claim("vlsm.phi_64.good", "the same, Φ = 64", "run out", (0.0, 0.5), 1.0, (PHI_64,), good_share(PHI_64.name),
              "8 files of L2 lie below S_m of L1 on average: two vSSTs in five are good",
              "A pick needs S_M / S_m = 8 of the 64. In an L1 of uniform density 40 % are good at Φ = 64 and none from 80 on "
              "(tests/engines/test_vsst.py), and picks leave L1 uneven, with dense parts that go first. What does fail at 64: 49 "
              "instead of 31 bytes are written per byte, and writers stall for 38 % of the time.", STATED),
        Claim("vlsm.phi_128.good", "the same, Φ = 128 (the paper: Φ >= 64 fails)", "run out", (0.0, 0.5), 1.0, (PHI_128,),
              good_share(PHI_128.name), "as above, a factor of two further on", "", STATED),
        Claim("vlsm.ratio_16.good", "the same, O = bytes per byte, Φ = 16", "none", (0.0, 0.1), 0.5, (RATIO_16,),
              good_share(RATIO_16.name), "a good vSST needs L1 to be 1/8 as dense as L2, it is 1/16", "", STATED),
        Claim("vlsm.no_vsst.io_amplification", "fixed SSTs in L1 / vSSTs, Φ = 32", "rises", (1.05, 3.0), 1.0, (VLSM_8, NO_VSST),
              ratio(NO_VSST.name, VLSM_8.name, io_amplification), "the picker cannot choose the dense parts of L1", "", STATED),
        Claim("vlsm.no_phi.levels", "levels below L0 in use, without Φ - with", "one more", (1.0, 2.0), 0.0, (VLSM_8, NO_PHI),
              difference(NO_PHI.name, VLSM_8.name, chain_levels), "L1 x 8 = 512 MB: the same data need one more level", "",
              STATED),
        Claim("vlsm.lsmi.io_amplification", "LSMi with an L1 of 256 MB / vLSM", "explodes", (1.25, 10.0), 1.0, (VLSM_8, LSMI_256),
              ratio(LSMI_256.name, VLSM_8.name, io_amplification), "every S_M rewrites 256 MB", "", STATED),
        Claim("vlsm.lsmi.levels", "LSMi with L1 = f x S_M - RocksDB-IO, levels below L0", "one or two more", (1.0, 2.0), 0.0,
              (IO_64, LSMI), difference(LSMI.name, IO_64.name, chain_levels), "a small L1 and one factor need more levels", "",
              STATED),
    )  # fmt: skip


CLAIMS: Final = (*_latency_claims(), *_stall_claims(), *_work_claims(), *_ablations())
