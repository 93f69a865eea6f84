"""The fuzzer of `make fuzz`: its undamaged inputs are accepted, and a few damaged ones find nothing."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from lsmlab.models.errors import InputError

SOURCE = Path(__file__).parents[1] / "benchmarks" / "fuzz.py"


@pytest.fixture(scope="module")
def fuzzer() -> ModuleType:
    """Return the module of the fuzzer."""
    spec = importlib.util.spec_from_file_location("fuzz", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["fuzz"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_undamaged_inputs_are_accepted(fuzzer: ModuleType, tmp_path: Path) -> None:
    """Each text that is damaged is read without an error, so errors come from the damage."""
    for number, (read, name, text) in enumerate(fuzzer.UNDAMAGED):
        read(fuzzer.written(tmp_path / str(number), name, text.encode()))


def test_a_few_inputs_find_nothing(fuzzer: ModuleType) -> None:
    """A hundred inputs of all kinds; `make fuzz` tries 5,000."""
    assert [] == fuzzer.fuzz(100, 2)


@pytest.mark.parametrize(
    "values", [{"a_s": float("nan")}, {"longest_stall_s": -1.0}, {"stall_fraction": 1.5}, {"levels": [{"write_bytes": -1}]},
               {"write_ops_per_s": 1e12}, {"duration_s": 1e12}]
)  # fmt: skip
def test_absurd_answers_are_found(fuzzer: ModuleType, values: dict[str, object]) -> None:
    """Numbers that no store can have are named with their place."""
    assert len(list(fuzzer.absurdities(values))) == 1


def test_finds_are_of_every_kind(fuzzer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception, a loop and a wrong answer are found; an InputError is an answer."""

    def loop(_path: Path) -> None:
        while True:
            pass

    def bug(_path: Path) -> None:
        raise KeyError("level")

    def wrong(_path: Path) -> None:
        raise fuzzer.WrongError("stopped for 2 of 1 s")

    def refusal(_path: Path) -> None:
        raise InputError("LOG:1: damaged")

    monkeypatch.setattr(fuzzer, "LIMIT_S", 0.05)
    readers = (loop, bug, wrong, refusal)
    kinds = {one.__name__: fuzzer.Kind(1, one, lambda folder, _rng: fuzzer.written(folder, "x", b"")) for one in readers}
    monkeypatch.setattr(fuzzer, "KINDS", kinds)
    found = {find.kind: find.what for find in fuzzer.fuzz(4, 1, list(kinds), tmp_path)}

    assert {"loop", "bug", "wrong"} == set(found)
    assert found["bug"].startswith("KeyError")
    assert found["loop"].startswith("longer than")
    assert 3 == len(list(tmp_path.iterdir()))
