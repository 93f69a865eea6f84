"""Benchmark of importing a large LOG: a real one, repeated with later times and higher numbers of jobs and files.

usage: python benchmarks/big_log.py LOG [MEGABYTES ...]        (not part of make bench: 1 GB takes minutes)

Each size is one `lsmlab import --no-report` in its own process. The repeated text has no second header, so it is the LOG
of one store that stays open.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

LARGEST_BYTES = 300e6
"""Target for the peak memory of the process, for a LOG of up to 1 GB (met at 100 MB; measured 896 MB at 1 GB)."""
_STAMP = re.compile(r"\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d")
_MICROS = re.compile(r'("time_micros": )(\d+)')
_NUMBER = re.compile(r"\d+")
_LIST = re.compile(r'"files_L\d": \[[^\]]*\]')
_INPUTS = re.compile(r"inputs: .*")
_SINGLE = re.compile(
    r'(?<=\[JOB )\d+|(?<="job": )\d+|(?<="file_number": )\d+|(?<=able #)\d+|(?<=oving #)\d+|(?<=log file: )#?\d+'
)


def repeated(lines: list[str], size_bytes: int) -> Iterable[str]:
    """Yield the lines of a LOG again and again, each time later and with higher numbers, up to a size."""
    first, last = _moment(lines[0]), _moment(next(line for line in reversed(lines) if _STAMP.match(line)))
    begin = next(i for i, line in enumerate(lines) if "DB pointer" in line) + 1
    length = timedelta(seconds=1 + round((last - first).total_seconds()))
    step = 1 + max(int(n[0]) for line in lines for n in _SINGLE.finditer(line) if n[0].isdigit())
    written = 0
    for turn in range(size_bytes):
        for line in lines[begin:] if turn else lines:
            if "Shutdown" in line:
                continue
            text = _later(line, turn * length, turn * step) if turn else line
            written += len(text) + 1
            yield text
            if written >= size_bytes:
                return


def _moment(line: str) -> datetime:
    return datetime.strptime(line[:19], "%Y/%m/%d-%H:%M:%S").replace(tzinfo=UTC)


def _later(line: str, by: timedelta, step: int) -> str:
    def higher(found: re.Match[str]) -> str:
        return _NUMBER.sub(lambda n: str(int(n[0]) + step), found[0])

    line = _STAMP.sub(lambda s: f"{_moment(s[0]) + by:%Y/%m/%d-%H:%M:%S}", line)
    line = _MICROS.sub(lambda m: f"{m[1]}{int(m[2]) + round(by.total_seconds() * 1e6)}", line)
    line = _SINGLE.sub(higher, line)
    line = _LIST.sub(lambda m: m[0][:12] + _NUMBER.sub(lambda n: str(int(n[0]) + step), m[0][12:]), line)
    return _INPUTS.sub(lambda m: re.sub(r"\d+(?=\()", lambda n: str(int(n[0]) + step), m[0]), line)


def main() -> int:
    """Print CPU time and peak memory of each import; return 1 if a LOG of at most 1 GB misses the target."""
    from lsmlab.models.text.files import read_text

    lines = read_text(Path(sys.argv[1])).splitlines()
    met = True
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "LOG"
        for megabytes in [int(n) for n in sys.argv[2:]] or [100, 1000]:
            with log.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in repeated(lines, megabytes * 10**6))
            command = [sys.executable, "-m", "lsmlab", "import", str(log), "--no-report", "--out", f"{place}/{megabytes}"]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            memory = 1024 * used.ru_maxrss
            met &= status == 0 and (memory <= LARGEST_BYTES or megabytes > 1000)
            cpu_s = used.ru_utime + used.ru_stime
            print(f"{megabytes:6,} MB  {cpu_s:7.1f} s CPU  {memory / 1e6:6.0f} MB (target {LARGEST_BYTES / 1e6:.0f})", flush=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
