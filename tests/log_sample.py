"""A small synthetic LOG in RocksDB's own formats with known totals, for tests of the LOG readers.

L0 is compacted into L1 after every fourth flush, and L1 moves files down now and then. Memtable stops and pending-bytes
slowdowns have their lines; statistics dumps are in the middle and at the end.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

START_US = 1_700_000_000_000_000
"""2023-11-14 22:13:20 UTC."""
TABLE_BYTES, ENTRIES, KEY_BYTES, VALUE_BYTES = 1_000_000, 8_000, 16, 100
HEADER = {
    "create_if_missing": "1", "max_background_jobs": "2", "delayed_write_rate": "8388608", "rate_limiter": "(nil)",
}  # fmt: skip
FAMILY = {
    "write_buffer_size": "1048576", "max_write_buffer_number": "2", "num_levels": "7", "compaction_style": "kCompactionStyleLevel",
    "level0_file_num_compaction_trigger": "4", "level0_slowdown_writes_trigger": "20", "level0_stop_writes_trigger": "36",
    "target_file_size_base": "1048576", "max_bytes_for_level_base": "4194304", "disable_auto_compactions": "0",
}  # fmt: skip
CAUSES = {
    "stop": "Stopping writes because we have 2 immutable memtables (waiting for flush), max_write_buffer_number is set to 2",
    "pending": "Stalling writes because of estimated pending compaction bytes {} rate 6710886",
}


def write_log(folder: Path, content: Sequence[str] | bytes, name: str = "LOG") -> Path:
    """Write a LOG file with these lines, or these bytes, and return its path."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else ("\n".join(content) + "\n").encode())
    return path


@dataclass
class Sample:
    """A LOG under construction, and the totals of its jobs and stalls."""

    version: str = "7.8.3"
    hours: int = 0
    """Offset of the LOG's clock from UTC, in hours."""
    first_job: int = 2
    lines: list[str] = field(default_factory=list)
    levels: list[dict[int, int]] = field(default_factory=lambda: [{} for _ in range(7)])
    """File sizes in bytes by file number, one dictionary per level."""
    totals: Counter[str] = field(default_factory=Counter)
    stalls: Counter[str] = field(default_factory=Counter)
    now_us: int = START_US
    opened_us: int = START_US
    job: int = 2
    file: int = 10
    pointer: str = "0x5617f09165c0"
    """Address of the open store."""
    overwritten: int = 60
    """Entries that each flush drops because later writes replaced them."""

    def stamp(self, time_us: int) -> str:
        """Format a line's time stamp."""
        moment = datetime.fromtimestamp(time_us // 10**6 + 3600 * self.hours, tz=UTC)
        return f"{moment:%Y/%m/%d-%H:%M:%S}.{time_us % 10**6:06}"

    def say(self, text: str, thread: int = 7001, original: bool = False, step_us: int = 13) -> None:
        """Add one line."""
        self.now_us += step_us
        late = f"(Original Log Time {self.stamp(self.now_us)}) " if original else ""
        written = self.now_us + (200 if original else 0)
        self.lines.append(f"{self.stamp(written)} {thread} {late}{text}")

    def event(self, data: dict[str, Any], thread: int = 7001, original: bool = False) -> None:
        """Add one event line."""
        self.say("EVENT_LOG_v1 " + json.dumps({"time_micros": self.now_us + 13, **data}), thread, original)

    def state(self) -> list[int]:
        """Return the number of files per level."""
        return [len(level) for level in self.levels]

    def open(self) -> None:
        """Open the store: add the header, and count jobs from the beginning."""
        self.opened_us = self.now_us
        self.header()
        self.job = self.first_job

    def header(self) -> None:
        """Add the header, as RocksDB writes it into each LOG of an open."""
        self.say(f"RocksDB version: {self.version}")
        self.say("DB SUMMARY")
        self.say(f"SST files in <db> dir, Total Num: {sum(self.state())}, files: ")
        for name, value in HEADER.items():
            self.say(f"{f'Options.{name}':>50}: {value}")
        self.say("[db/column_family.cc:630] --------------- Options for column family [default]:")
        self.say("")
        for name, value in FAMILY.items():
            self.say(f"{f'Options.{name}':>50}: {value}")
        self.say("           table_factory options:   flush_block_policy_factory: FlushBlockBySizePolicyFactory (0x1)")
        self.lines += ["  block_size: 4096", "  filter_policy: nullptr"]
        self.say(f"DB pointer {self.pointer}")

    def created(self, size: int, entries: int) -> int:
        """Add the event of a new table file; return its number."""
        self.file += 1
        properties = {
            "data_size": size - 5000, "raw_key_size": entries * (KEY_BYTES + 8), "raw_value_size": entries * VALUE_BYTES,
            "num_entries": entries, "num_deletions": 0, "compression": "NoCompression",
        }  # fmt: skip
        self.event({
            "cf_name": "default", "job": self.job, "event": "table_file_creation", "file_number": self.file,
            "file_size": size, "table_properties": properties,
        })  # fmt: skip
        return self.file

    def switch(self, waiting: int = 0, gap_us: int = 100_000) -> None:
        """Add the lines of a full memtable."""
        self.now_us += gap_us
        self.say(
            f"[db/db_impl/db_impl_write.cc:2089] [default] New memtable created with log file: #4. Immutable memtables: {waiting}.",
            7009,
        )
        if waiting:
            self.say(f"[WARN] [db/column_family.cc:948] [default] {CAUSES['stop']}", 7009)
            self.stalls["memtable_stop"] += 1

    def flush(self) -> None:
        """Add one flush job."""
        self.job += 1
        self.say(f"[db/flush_job.cc:861] [default] [JOB {self.job}] Flushing memtable with next log file: 4")
        self.event({
            "job": self.job, "event": "flush_started", "num_memtables": 1, "num_entries": ENTRIES, "num_deletes": 0,
            "total_data_size": ENTRIES * (KEY_BYTES + VALUE_BYTES), "memory_usage": 1_018_168, "flush_reason": "Write Buffer Full",
        })  # fmt: skip
        size = TABLE_BYTES + 17 * self.job
        self.now_us += 20_000
        number = self.created(size, ENTRIES - self.overwritten)
        self.say(
            f"[db/flush_job.cc:1025] [default] [JOB {self.job}] Flush lasted 20039 microseconds, and 11000 cpu microseconds."
        )
        self.say(
            f"[db/flush_job.cc:973] [default] [JOB {self.job}] Level-0 flush table #{number}: {size} bytes OK",
            original=True,
        )
        self.say(f"[db/memtable_list.cc:722] [default] Level-0 commit table #{number}: memtable #1 done", original=True)
        self.levels[0][number] = size
        self.event({
            "job": self.job, "event": "flush_finished", "output_compression": "NoCompression", "lsm_state": self.state(),
            "immutable_memtables": 0,
        }, original=True)  # fmt: skip
        self.totals["flush_count"] += 1
        self.totals["flush_bytes"] += size

    def compact(self, start: int, into: int, pending: bool = False) -> None:
        """Add one compaction of a whole level with all files of the output level."""
        self.job += 1
        thread = 7002
        inputs = {level: dict(self.levels[level]) for level in (start, into)}
        read = sum(sum(files.values()) for files in inputs.values())
        entries = sum(len(files) for files in inputs.values()) * (ENTRIES - self.overwritten)
        words = " + ".join(f"{len(files)}@{level}" for level, files in inputs.items() if files)
        listed = ", ".join(f"[{' '.join(f'{n}({s // 1024}KB)' for n, s in f.items())}]" for f in inputs.values() if f)
        self.say(
            f"[db/compaction/compaction_job.cc:1994] [default] [JOB {self.job}] Compacting {words} files to L{into}, score 1.00",
            thread,
        )
        self.say(
            f"[db/compaction/compaction_job.cc:2000] [default]: Compaction start summary: Base version 5 Base level {start}, inputs: {listed}",
            thread,
        )
        self.event({
            "job": self.job, "event": "compaction_started", "compaction_reason": "LevelL0FilesNum",
            **{f"files_L{level}": list(files) for level, files in inputs.items() if files}, "score": 1, "input_data_size": read,
        }, thread)  # fmt: skip
        kept = entries - 100 * len(inputs[start])
        count = max(1, sum(len(files) for files in inputs.values()) - 1)
        sizes = [TABLE_BYTES + 11 * self.job + i for i in range(count)]
        outputs = {}
        for i, size in enumerate(sizes):
            self.now_us += 10_000
            part = kept // count + (kept % count if i == 0 else 0)
            self.say(
                f"[db/compaction/compaction_job.cc:1587] [default] [JOB {self.job}] Generated table #{self.file + 1}: {part} keys, "
                f"{size} bytes, temperature: kUnknown",
                thread,
            )
            outputs[self.created(size, part)] = size
        for level in inputs:
            self.levels[level].clear()
        self.levels[into].update(outputs)
        written = sum(sizes)
        if pending:
            self.say(
                f"[WARN] [db/column_family.cc:987] [default] {CAUSES['pending'].format(64_000_000 + self.job)}", thread
            )
            self.stalls["pending_slowdown"] += 1
        self.say(
            f"[db/compaction/compaction_job.cc:1662] [default] [JOB {self.job}] Compacted {words} files to L{into} => {written} bytes",
            thread,
            original=True,
        )
        files = " ".join(map(str, self.state()))
        self.say(
            f"[db/compaction/compaction_job.cc:864] [default] compacted to: files[{files}] max score 0.50, MB/sec: 74.2 rd, 71.2 wr, "
            f"level {into}, files in(1, 1) out({count} +0 blob) MB in({sum(inputs[start].values()) / 2**20:.1f}, "
            f"{sum(inputs[into].values()) / 2**20:.1f} +0.0 blob) out({written / 2**20:.1f} +0.0 blob), read-write-amplify(3.9) "
            f"write-amplify(1.9) OK, records in: {entries}, records dropped: {entries - kept} output_compression: NoCompression",
            thread, original=True,
        )  # fmt: skip
        self.event({
            "job": self.job, "event": "compaction_finished", "compaction_time_micros": 10_000 * count,
            "compaction_time_cpu_micros": 3 * entries // 10, "output_level": into, "num_output_files": count,
            "total_output_size": written, "num_input_records": entries, "num_output_records": kept, "num_subcompactions": 1,
            "output_compression": "NoCompression", "lsm_state": self.state(),
        }, thread, original=True)  # fmt: skip
        self.totals["compaction_count"] += 1
        self.totals["compaction_read_bytes"] += read
        self.totals["compaction_write_bytes"] += written

    def move(self, start: int, count: int) -> None:
        """Add a trivial move of some files one level down."""
        self.job += 1
        thread = 7003
        moved = dict(list(self.levels[start].items())[:count])
        for number, size in moved.items():
            self.say(
                f"[db/db_impl/db_impl_compaction_flush.cc:3340] [default] Moving #{number} to level-{start + 1} {size} bytes",
                thread,
                original=True,
            )
            del self.levels[start][number]
        self.levels[start + 1].update(moved)
        total = sum(moved.values())
        self.event({
            "job": self.job, "event": "trivial_move", "destination_level": start + 1, "files": len(moved), "total_files_size": total,
        }, thread, original=True)  # fmt: skip
        files = " ".join(map(str, self.state()))
        self.say(
            f"[db/db_impl/db_impl_compaction_flush.cc:3378] [default] Moved #{len(moved)} files to level-{start + 1} {total} bytes OK: "
            f"files[{files}] max score 0.58", thread, original=True,
        )  # fmt: skip
        self.totals["trivial_move_count"] += 1

    def dump(self) -> None:
        """Add a statistics dump in the format of 7.8."""
        self.now_us += 10_000  # so that the dump is later than the preceding commit
        self.say("[db/db_impl/db_impl.cc:1105] ------- DUMPING STATS -------", 7008)
        self.say("[db/db_impl/db_impl.cc:1107] ", 7008)
        uptime = (self.now_us - self.opened_us) / 1e6
        keys = self.totals["flush_count"] * ENTRIES
        written = (self.totals["flush_bytes"] + self.totals["compaction_write_bytes"]) / 2**30
        flushed, read = self.totals["flush_bytes"] / 2**30, self.totals["compaction_read_bytes"] / 2**30
        jobs = self.totals["flush_count"] + self.totals["compaction_count"]
        columns = "Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop"
        row = f"{sum(self.state())}/0 {sum(sum(x.values()) for x in self.levels) / 2**20:.2f} MB 0.0 {read:.1f} 0.0 0.0 {written:.1f} 0.0 0.0 2.0 10.0 10.0 1.00 0.50 {jobs} 0.1 100K 1000"
        high = f"0/0 0.00 KB 0.0 0.0 0.0 0.0 {flushed:.1f} 0.0 0.0 0.0 0.0 10.0 1.00 0.50 {self.totals['flush_count']} 0.1 0 0"
        self.lines += [
            "** DB Stats **",
            f"Uptime(secs): {uptime:.1f} total, {uptime:.1f} interval",
            f"Cumulative writes: 0 writes, {keys // 1000}K keys, 0 commit groups, 0.0 writes per commit group, ingest: {keys * 116 / 2**30:.2f} GB, 1.00 MB/s",
            "Cumulative WAL: 0 writes, 0 syncs, 0.00 writes per sync, written: 0.00 GB, 0.00 MB/s",
            f"Cumulative stall: 00:00:{0.02 * self.stalls['memtable_stop']:.3f} H:M:S, 1.0 percent",
            f"Interval writes: 0 writes, {keys // 1000}K keys, 0 commit groups, 0.0 writes per commit group, ingest: 1.00 MB, 1.00 MB/s",
            "Interval WAL: 0 writes, 0 syncs, 0.00 writes per sync, written: 0.00 GB, 0.00 MB/s",
            "Interval stall: 00:00:0.000 H:M:S, 0.0 percent",
            "", "** Compaction Stats [default] **", columns, "-" * len(columns), f" Sum      {row}", f" Int      {row}",
            "", "** Compaction Stats [default] **", columns.replace("Level   ", "Priority"), "-" * len(columns), f"High      {high}",
            "", f"Uptime(secs): {uptime:.1f} total, {uptime:.1f} interval", f"Flush(GB): cumulative {flushed:.3f}, interval {flushed:.3f}",
            f"Cumulative compaction: {written:.2f} GB write, 1.00 MB/s write, {read:.2f} GB read, 1.00 MB/s read, 1.0 seconds",
            f"Stalls(count): 0 level0_slowdown, 0 level0_slowdown_with_compaction, 0 level0_numfiles, 0 level0_numfiles_with_compaction, "
            f"0 stop for pending_compaction_bytes, {self.stalls['pending_slowdown']} slowdown for pending_compaction_bytes, "
            f"{self.stalls['memtable_stop']} memtable_compaction, 0 memtable_slowdown, interval 0 total count",
            "", "** File Read Latency Histogram By Level [default] **",
        ]  # fmt: skip

    def close(self) -> None:
        """Add the lines of closing the store."""
        self.say("[db/db_impl/db_impl.cc:512] Shutdown: canceling all background work", 7000)
        self.say("[db/db_impl/db_impl.cc:704] Shutdown complete", 7000)

    def run(self, flushes: int = 40) -> Sample:
        """Write a whole LOG."""
        self.open()
        self.fill(flushes)
        self.close()
        return self

    def fill(self, flushes: int) -> None:
        """Add flushes and the compactions that they trigger."""
        for i in range(1, flushes + 1):
            self.switch()
            if i % 5 == 0:
                self.switch(waiting=1, gap_us=5_000)
                self.flush()
            self.flush()
            if len(self.levels[0]) >= 4:
                self.compact(0, 1, pending=i % 8 == 0)
            if len(self.levels[1]) > 8:
                self.move(1, 3)
            if i == flushes // 2:
                self.dump()
        self.dump()

    @property
    def text(self) -> str:
        """Text of the LOG."""
        return "\n".join(self.lines) + "\n"
