"""Names of configurations that people can read: `write_buffer_size=64MiB, 4 jobs`."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

_NOUNS: Final = {
    "max_background_jobs": "job", "max_subcompactions": "subcompaction", "max_write_buffer_number": "memtable",
    "num_levels": "level", "threads": "thread", "cores": "core",
}  # fmt: skip
"""Last part of a key whose value is a number of things, and the word for one of them."""
_LENGTH: Final = 120
"""Largest length of a folder's name in characters; longer names end with a digest."""
_DIGEST: Final = 8


def configuration_name(choices: Mapping[str, str]) -> str:
    """Return the name of a configuration: its values by key, as in overrides without quotes.

    >>> configuration_name({"device": "sata", "engine.options.write_buffer_size": "64MiB",
    ...                     "engine.options.max_background_jobs": "4"})
    'sata, write_buffer_size=64MiB, 4 jobs'
    >>> configuration_name({"workload.num": "1M", "prefill.num": "2M", "engine/scheduler": "silk"})
    'workload.num=1M, prefill.num=2M, scheduler=silk'
    >>> configuration_name({"host.cores": "1", "checks": "true"})
    '1 core, checks=true'
    """
    last = Counter(_last(key) for key in choices)
    return ", ".join(value_name(key, value, unique=last[_last(key)] == 1) for key, value in choices.items())


def folder_names(names: Sequence[str]) -> list[str]:
    """Return a folder name for each name: without characters that paths or shells treat specially, short, and different.

    >>> folder_names(["sata, write_cap=100MB/s", "sata, write_cap=100MB-s"])[0]
    'sata, write_cap=100MB-s'
    """
    folders: dict[str, None] = {}
    for name in names:
        folder = re.sub(r"[^\w.,=+% -]+", "-", name).strip("-. ") or "run"
        if len(folder) > _LENGTH or folder in folders:
            folder = f"{folder[: _LENGTH - _DIGEST - 1]} {hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]}"
        folders[folder] = None
    return list(folders)


def _last(key: str) -> str:
    return re.split(r"[./]", key.partition("@")[2] or key)[-1]


def value_name(key: str, value: str, *, unique: bool = True) -> str:
    """Return the name of one value; `unique`: no other key of the sweep has the same last part."""
    last = _last(key)
    noun = _NOUNS.get(last)
    if noun is not None and unique and value.isdecimal():
        return f"{value} {noun}" if value == "1" else f"{value} {noun}s"
    if re.search(r"[./@]", key) is None:
        return value if re.match(r"(?!true$|false$|null$)[A-Za-z]", value) else f"{key}={value}"
    return f"{last if unique else '.'.join(re.split(r'[./]', key)[-2:])}={value}"
