"""Reader of LevelDB's LOG: flushes, compactions and trivial moves, as values of summary.json.

Lines (db/db_impl.cc): "Level-0 table #5: 4106325 bytes OK", "Compacting 4@0 + 1@1 files",
"Compacted 4@0 + 1@1 files => 20427011 bytes", "Moved #9 to level-2 2113 bytes OK: …",
"compacted to: files[ 5 10 1 0 0 0 0 ]", "Current memtable full; waiting...", "Too many L0 files; waiting...".
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

_LINE: Final = re.compile(r"^(\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d\.\d{6}) \S+ (.*)$")
_FLUSHED: Final = re.compile(r"Level-0 table #\d+: (\d+) bytes OK")
_COMPACTED: Final = re.compile(r"Compacted (\d+)@(\d+) \+ \d+@(\d+) files => (\d+) bytes")
_MOVED: Final = re.compile(r"Moved #\d+ to level-\d+ \d+ bytes OK")
_FILES: Final = re.compile(r"compacted to: files\[([ \d]+)\]")
_OURS: Final = re.compile(r"^\S+ [0-9a-f]+ (?:Level-0 table #\d+: \d+ bytes|Compacted \d+@\d+ \+)", re.MULTILINE)


def is_leveldb_log(text: str) -> bool:
    """Whether a text is LevelDB's LOG: it has no RocksDB event, and flush or compaction lines in LevelDB's form."""
    return "EVENT_LOG_v1" not in text and _OURS.search(text) is not None


def leveldb_values(text: str, until_s: float | None = None) -> dict[str, float]:
    """Return counts, bytes and files per level of the jobs that ended within `until_s` seconds after the first line.

    Without `until_s` all jobs are counted. Names are those of summary.json in flat form, such as levels.N.files and
    pairs.A-B.write_bytes.
    """
    counts = {"flush_count": 0, "compaction_count": 0, "trivial_move_count": 0}
    flushed = written = 0
    pairs: dict[str, float] = {}
    files: list[int] = []
    first: datetime | None = None
    seconds = 0.0
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        now = datetime.strptime(found[1], "%Y/%m/%d-%H:%M:%S.%f")
        first = first or now
        if until_s is not None and (now - first).total_seconds() > until_s:
            break
        seconds = (now - first).total_seconds()
        message = found[2]
        if flush := _FLUSHED.match(message):
            counts["flush_count"] += 1
            flushed += int(flush[1])
        elif merge := _COMPACTED.match(message):
            counts["compaction_count"] += 1
            written += int(merge[4])
            name = f"pairs.{merge[2]}-{merge[3]}.write_bytes"
            pairs[name] = pairs.get(name, 0.0) + float(merge[4])
        elif _MOVED.match(message):
            counts["trivial_move_count"] += 1
        elif tree := _FILES.match(message):
            files = [int(n) for n in tree[1].split()]
    values = {name: float(n) for name, n in counts.items()}
    values |= {"duration_s": until_s or seconds, "flush_bytes": float(flushed), "compaction_write_bytes": float(written)}
    if flushed:
        values["write_amplification"] = (flushed + written) / flushed
    return values | pairs | {f"levels.{i}.files": float(n) for i, n in enumerate(files)}
