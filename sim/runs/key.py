"""The key of a run: a digest of all that decides its results."""

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
"""Keys of a configuration that change what is printed, not what is simulated, and the values that the store keeps."""
_OWN: Final = ("lsmlab.models", "lsmlab.sim")
_LIBRARIES: Final = ("numpy", "scipy", "simpy")
"""Libraries whose arithmetic and order of events are part of a result."""
_DIGITS: Final = 24
"""Hexadecimal digits of a key: 96 bits, so that a million runs meet by chance once in 10^17."""


def canonical(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration as the store keeps it: what does not change results has one value."""
    return {**config, **_NEUTRAL}


def run_key(config: Mapping[str, Any]) -> str:
    """Digest of a resolved configuration (seed included), of the content of files that it names, and of the code."""
    about = {
        "config": canonical(config),
        "files": {name: _content(name) for name in sorted(set(_files(config)))},
        "code": code_digest(_packages(config)),
    }
    text = json.dumps(about, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _files(node: object) -> Iterator[str]:
    """Values that are names of files: OPTIONS, traces, initial trees, or whatever a class of one's own reads."""
    if isinstance(node, Mapping):
        for value in node.values():
            yield from _files(value)
    elif isinstance(node, list):
        for value in node:
            yield from _files(value)
    elif isinstance(node, str) and "\0" not in node and len(node) < 1000 and Path(node).is_file():
        yield node


def _content(name: str) -> str:
    about = Path(name).stat()
    return _content_of(str(Path(name).resolve()), about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=1000)
def _content_of(path: str, _time_ns: int, _size: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _packages(node: object) -> tuple[str, ...]:
    """Packages besides lsmlab whose classes a configuration names (--allow-package): their code decides as well."""
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
    """Digest of the release, of the sources of lsmlab.models and lsmlab.sim, of `packages` and of the libraries below."""
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
    found = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return found or ([Path(spec.origin)] if spec.origin else [])
