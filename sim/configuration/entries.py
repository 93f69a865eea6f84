"""Entries of configuration groups: the YAML files that LSMLab ships, and those in the user's folders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

CONFIG_MODULE: Final = "lsmlab.configs"


@cache
def packaged_folder() -> Path:
    """Return the folder of the entries that LSMLab ships."""
    spec = find_spec(CONFIG_MODULE)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def is_group(key: str, folders: Sequence[Path]) -> bool:
    """Return whether `key` is a configuration group: a folder of LSMLab's entries or in one of the user's `folders`."""
    return any((place / key).is_dir() for place in (packaged_folder(), *folders))
