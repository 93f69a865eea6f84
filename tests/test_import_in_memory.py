"""From a LOG to a what-if in memory: no file of the import is written or read, and the answer is that of its folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import lsmlab
import pytest
from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.catalogue import MemoryFolder, packaged_folder
from lsmlab.sim.configuration.compose import compose
from lsmlab.validation.importer.importing import ImportRequest, read_store

LOG = Path(__file__).parents[1] / "validation" / "recordings" / "static" / "LOG.xz"
HYDRA = ("hydra: {run: {dir: x}}", "defaults: ['/payload/x@hydra.run']", "defaults: [{override /device: ../../x}]")
_OPENED: list[tuple[Path, bool]] = []
"""Files that this process opened, and whether for writing."""


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str):
        _OPENED.append((Path(arguments[0]), bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))))


@pytest.fixture(scope="module", autouse=True)
def _noted() -> None:
    sys.addaudithook(_note)


def test_a_what_if_of_a_log_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the run store and the folder of the answer get files; the answer is that through the folder of the import."""
    monkeypatch.setenv("LSMLAB_RUNS", str(tmp_path / "runs"))
    asked: dict[str, Any] = {"changes": ["workload.duration=5s"], "replications": 1, "jobs": 1, "progress": False}
    _OPENED.clear()
    store = lsmlab.import_log(LOG)
    answer = lsmlab.whatif(store, "device=sata", "limits=none", "host.cores=2", out=tmp_path / "answer", **asked)
    opened = [
        (path, writes) for path, writes in _OPENED if "__pycache__" not in path.parts and path.parts[1:2] != ("dev",)
    ]
    place = Path(str(store.place))

    assert [] == [path for path, writes in opened if writes and tmp_path not in path.parents]
    composed = {path for path, _ in opened if path.suffix == ".yaml" and tmp_path not in path.parents}
    assert [] == [path for path in composed if packaged_folder() not in path.parents and "hydra" not in path.parts]
    assert [] == list(place.iterdir())
    assert '"LOG"' in answer.report().read_text(encoding="utf-8")  # the page shows the tables of the LOG, too
    assert place == store.folder
    assert (place / "experiment" / "imported.yaml").is_file()
    through_folder = lsmlab.whatif(place, "device=sata", "limits=none", "host.cores=2", **asked)
    assert through_folder.summary == answer.summary


def test_a_trace_in_memory_is_the_load_of_the_file(tmp_path: Path) -> None:
    """The experiment that offers the accepted load has the same arrivals with the trace in memory as from its file."""
    store = read_store(ImportRequest(logs=(LOG,)))
    in_memory = store.in_memory(str(tmp_path / "store"))
    store.write(tmp_path / "store")
    short = ["experiment=imported", "workload.duration=5s"]
    first, second = (lsmlab.run(compose(short, [place]), progress=False) for place in (in_memory, tmp_path / "store"))

    assert first.summary["operations"] == second.summary["operations"] > 0
    assert first.config["workload"]["rows"] == Path(second.config["workload"]["file"]).read_text(encoding="utf-8")


@pytest.mark.parametrize("text", HYDRA)
def test_a_folder_in_memory_is_foreign(text: str) -> None:
    """A folder in memory may set no more than a foreign folder on disk."""
    folder = MemoryFolder(
        "/in/memory", {"experiment/evil.yaml": f"# @package _global_\n{text}\n", "payload/x.yaml": ""}, {}
    )

    with pytest.raises(InputError, match=r"/in/memory/experiment/evil\.yaml"):
        compose(["experiment=evil"], [folder])
    with pytest.raises(Exception, match="imported"):
        compose(["experiment=imported"], [folder])
