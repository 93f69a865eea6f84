"""LOGs that are large or made to do harm: reading stays within limits of memory and time, which the messages name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from log_sample import Sample, write_log
from lsmlab.models.errors import InputError
from lsmlab.models.text import compression
from lsmlab.models.text.files import TextLines, read_text, read_text_part
from lsmlab.reports.cli.import_log import import_log
from lsmlab.validation.importer.reading import read

PEAK_BYTES = 8 << 20
"""Memory that reading a file without records may take, whatever its size."""


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the peak of Python's memory during a call, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["", "\n", "a", "a\n", "a\n\nb\r\n", "é\u2028x\n" * 3000, "2023/11/14 µs\n" * 900 + "cut"])
def test_lines_are_those_of_the_whole_text(
    encoding: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading in steps of 7 bytes gives the lines of the whole text, in each encoding."""
    monkeypatch.setattr(compression, "_STEP_BYTES", 7)
    path = write_log(tmp_path, text.encode(encoding))
    whole, _ = read_text_part(path)
    lines = TextLines(path)

    assert whole.removesuffix("\n").split("\n") == list(lines)
    assert whole == lines.head
    assert lines.whole == (not whole or whole.endswith("\n"))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize("kept", [1.0, 0.7])
def test_compressed_lines_are_those_of_the_text(
    pack: Callable[[bytes], bytes], kept: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members, zeros after the last member and cut-off data are read in small steps as at once."""
    monkeypatch.setattr(compression, "_STEP_BYTES", 64)
    text = Sample().run(10).text.encode()
    raw = pack(text) + pack(b"") + pack(text)
    path = write_log(tmp_path, raw[: round(kept * len(raw))] + (b"\0" * 512 if kept == 1.0 else b""))
    lines = TextLines(path)
    found, whole = read_text_part(path)

    assert found.removesuffix("\n").split("\n") == list(lines)
    assert whole == (kept == 1.0)
    assert not found.endswith("\n") or whole == lines.whole
    assert (2 * text.decode()).startswith(found)
    assert len(found) == 2 * len(text) if whole else len(found) > len(text) / 2


def test_empty_members_end(tmp_path: Path) -> None:
    """A file of 400,000 empty gzip members is refused at once; 20,000 members, as bgzip writes them, are read."""
    with pytest.raises(InputError, match="more than 100,000 compressed members"):
        read(write_log(tmp_path, gzip.compress(b"") * 400_000))
    text = Sample().run(10).text

    assert text == read_text(write_log(tmp_path, gzip.compress(b"") * 20_000 + gzip.compress(text.encode())))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_bombs_are_refused(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """A small file that expands to millions of blank lines is refused by its ratio, from the first megabyte on."""
    path = write_log(tmp_path, pack((b" " * 999 + b"\n") * 20_000))

    with pytest.raises(InputError, match="expands to more than 200 times its size"):
        read(path)


@pytest.mark.parametrize("packed", [False, True])
def test_an_endless_line_is_refused_in_little_memory(packed: bool, tmp_path: Path) -> None:
    """A file of one line of 100 MB, which does not compress like blanks, is refused after a few MB."""
    content = b"2023/11/14-22:13:20.000013 7001 " + random.Random(1).randbytes(250_000).hex().encode() * 200
    path = write_log(tmp_path, gzip.compress(content, 1) if packed else content)
    del content

    def refuse() -> None:
        with pytest.raises(InputError, match=r"LOG:1: line is longer than 4 MiB"):
            read(path)

    assert peak_bytes(refuse) < 6 * PEAK_BYTES


def test_the_size_limit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text above the limit is refused, with the limit and the remedy."""
    monkeypatch.setattr("lsmlab.models.text.files._LARGEST_LINES_BYTES", 1 << 20)
    path = write_log(tmp_path, Sample().run(10).lines * 30)

    with pytest.raises(InputError, match="longer than 1 MiB of text; extract a part of it"):
        read(path)


def test_memory_does_not_grow_with_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """10 MB of lines that are no records take no memory; a record takes at most 1,500 bytes."""
    monkeypatch.setattr("lsmlab.models.text.files._HEAD_CHARACTERS", 1 << 18)
    sample = Sample().run(100)
    path = write_log(tmp_path, sample.lines)
    alone = peak_bytes(lambda: read(path))
    records = len(read(path).log.records)
    head, _, tail = sample.text.rpartition("2023/")
    other = "2023/11/14-22:30:20.000013 7001 [db/db_impl.cc:123] nothing to see\n" * 150_000
    path.write_text(f"{head}{other}2023/{tail}")
    assert path.stat().st_size > 10_000_000

    assert peak_bytes(lambda: read(path)) < alone + PEAK_BYTES
    assert alone < 1500 * records + PEAK_BYTES


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/proc/self/mem"])
def test_devices_are_no_logs(name: str, tmp_path: Path) -> None:
    """A device is refused, not read without end."""
    with pytest.raises(InputError, match=name):
        import_log([name, "--out", str(tmp_path / "out")])


def test_the_number_of_lines_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blank lines without end are refused by their number, in a LOG after its first lines and in any other text at once."""
    monkeypatch.setattr("lsmlab.validation.logs.reader._LINES_TO_BEGIN", 100)

    with pytest.raises(InputError, match=r"LOG: no line of RocksDB among the first 100; give its LOG"):
        read(write_log(tmp_path, b"\n" * 1000))
    with pytest.raises(InputError, match=r"LOG: has more than 500 lines"):
        list(TextLines(write_log(tmp_path, b"\n" * 1000), 500))
    assert read(write_log(tmp_path, b"\n" * 90 + Sample().run(10).text.encode())).log.records
