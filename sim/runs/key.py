"""Key of a run: a digest of everything that determines its results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

_NEUTRAL: Final[Mapping[str, Any]] = {"json": False, "report": None, "replications": 1}
"""Configuration keys that change the output but not the simulation, with the values that the store writes for them."""
_OWN: Final = ("lsmlab.models", "lsmlab.sim")
_LIBRARIES: Final = ("numpy", "scipy", "simpy")
"""Libraries whose arithmetic and order of events affect results."""
_DIGITS: Final = 24
"""Hexadecimal digits of a key: with 96 bits, two of a million runs have the same key with probability 10^-17."""


def canonical(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration as the store writes it: keys that do not change results have one fixed value."""
    return {**config, **_NEUTRAL}


def run_key(config: Mapping[str, Any]) -> str:
    """Return the digest of a resolved configuration (seed included), of the files that it names, and of the code."""
    about = {
        "config": canonical(config),
        "files": {name: _content(name) for name in sorted(set(_files(config)))},
        "code": code_digest(_packages(config)),
    }
    text = json.dumps(about, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _files(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values that are paths of existing files: OPTIONS, traces, initial trees, inputs of user classes."""
    return (text for text in _texts(config) if "\0" not in text and len(text) < 1000 and Path(text).is_file())


def _texts(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping | list):
        for value in node.values() if isinstance(node, Mapping) else node:
            yield from _texts(value)


def _content(name: str) -> str:
    status = Path(name).stat()
    return _content_of(str(Path(name).resolve()), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1000)
def _content_of(path: str, _time_ns: int, _size: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _packages(node: object) -> tuple[str, ...]:
    """Return the packages other than lsmlab whose classes a configuration names (--allow-package)."""
    return tuple(sorted({str(t).partition(".")[0] for t in _targets(node)} - {"lsmlab"}))


def _targets(node: object) -> Iterator[object]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key == "_target_":
                yield value
            else:
                yield from _targets(value)
    elif isinstance(node, list):
        for value in node:
            yield from _targets(value)


@cache
def code_digest(packages: tuple[str, ...] = ()) -> str:
    """Return the digest of the code: sources of lsmlab.models, lsmlab.sim and `packages`, versions of all libraries."""
    digest = hashlib.sha256(" ".join(version(name) for name in ("lsmlab", *_LIBRARIES)).encode())
    for package in (*_OWN, *packages):
        for path in _sources(package):
            digest.update(f"{package}/{path.name}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:_DIGITS]


def _sources(package: str) -> list[Path]:
    spec = find_spec(package)
    if spec is None:
        return []
    folders = [Path(place) for place in spec.submodule_search_locations or ()]
    sources = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return sources or ([Path(spec.origin)] if spec.origin else [])
