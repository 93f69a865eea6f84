"""Stores a recording: compressed files of each repeat in the case's folder, measured numbers in case.yaml."""

from __future__ import annotations

import lzma
import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lsmlab.sim.results.leftovers import replacing
from lsmlab.sim.yaml_text import to_yaml
from lsmlab.validation.casefiles.case import FILE
from lsmlab.validation.importer.reading import read
from lsmlab.validation.importer.workload import infer_workload
from lsmlab.validation.recorder.outcome import combine, read_outcome, recorded_version

MARK: Final = "# --- recorded by `lsmlab record`; replaced when the case is recorded again ---"
_COMPRESSED: Final = ("LOG", "OPTIONS", "MANIFEST.txt", "stdout.txt", "counters.csv")
_PROGRESS: Final = re.compile(r"\.\.\. finished \d+ ops *\r?")


def keep_repeat(raw: Path, folder: Path, scratch: Sequence[Path], *, manifest: bool) -> None:
    """Compress the files of one run from `raw` into `folder`, without the paths of this machine.

    With `manifest`, also store the dump of the MANIFEST, which an exact replay needs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in _COMPRESSED:
        source = raw / name
        if not source.is_file() or (name == "MANIFEST.txt" and not manifest):
            continue
        text = _PROGRESS.sub("", source.read_text(errors="replace"))
        for path in scratch:
            text = text.replace(str(path), f"<{path.name}>")
        write_xz(folder / f"{name}.xz", text)
    (folder / "report.csv").write_text((raw / "report.csv").read_text())


def write_xz(path: Path, text: str) -> None:
    """Write a text file with the strongest compression of xz."""
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def is_recorded(case: Path) -> bool:
    """Whether the case file contains the block of a recording."""
    return MARK in (case / FILE).read_text(encoding="utf-8")


def write_block(case: Path, repeats: Sequence[str], extra: Mapping[str, Any]) -> None:
    """Write the measurements of the repeats (folder names) at the end of case.yaml; replace an older recording."""
    measured, noise = combine([read_outcome(case / r) for r in repeats])
    block: dict[str, Any] = {"measured": measured}
    if noise:
        block["noise"] = noise
    block["series"] = [f"{r}/report.csv" for r in repeats]
    block["log"] = [f"{r}/LOG.xz" for r in repeats]
    ratio = infer_workload(read(case / block["log"][0])).compression_ratio
    data = {} if ratio is None else {"compression_ratio": round(ratio, 4)}
    block["record"] = {"rocksdb": recorded_version(case / repeats[0]), **data, **extra}
    path = case / FILE
    head = path.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
    text = to_yaml(block, width=120, unicode=True)
    with replacing(path) as temporary:
        temporary.write_text(f"{head}\n\n{MARK}\n{text}", encoding="utf-8")


def machine_facts() -> dict[str, Any]:
    """Return date, CPU, number of cores and kernel of this machine."""
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        found = re.search(r"^model name\s*: (.*)$", cpuinfo.read_text(), re.M)
        model = found[1] if found else ""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": model or platform.processor(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
    }
