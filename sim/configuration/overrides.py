"""Text of overrides: quoting, and the search path.

Hydra's grammar of overrides: https://hydra.cc/docs/advanced/override_grammar/basic
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.catalogue import ConfigFolder
from lsmlab.sim.configuration.trust import is_trusted

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

_SEARCH_PATH: Final = "hydra.searchpath"
_LONGEST: Final = 100_000
"""Largest length of an override in characters: an initial tree of 2,000 files."""
_DEEPEST: Final = 20
"""Largest depth of brackets: the time of Hydra's parser grows steeply with it."""
_BRACKETS: Final = re.compile(r"[\[\](){}]")
_QUOTES: Final = ("'", '"')
_INSTANCES: Final = {"prefill": "workload", "cold_device": "device", "wal_device": "device"}
"""Keys with a further instance of a group, by which Hydra calls them GROUP@KEY."""
MACHINE: Final = "machine"
"""Short for `PARAMETERS`, on the command line."""
PARAMETERS: Final = "host.parameters"
"""Key of the parameter set: the name of one of configs/parameters, or a file of `lsmlab measure` (machine=PATH)."""
HYDRA_LOCK: Final = threading.RLock()
"""Hydra's parser and repository have one state per process."""


def parsed(overrides: Sequence[str]) -> list[Override]:
    """Parse overrides by Hydra's grammar. May be called from several threads. Raises Hydra's OverrideParseException.

    Raises InputError for an override that is too long or nested too deeply for Hydra's parser.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser

    for text in overrides:
        _check_size(text)
    with HYDRA_LOCK:
        return OverridesParser.create().parse_overrides(list(overrides))


def _check_size(text: str) -> None:
    depth = deepest = 0
    for sign in _BRACKETS.findall(text):
        depth += 1 if sign in "[{(" else -1
        deepest = max(deepest, depth)
    if len(text) > _LONGEST or deepest > _DEEPEST:
        raise InputError(
            f"{text[:60]}…: an override of more than {_LONGEST:,} characters or {_DEEPEST} levels of brackets; write it into an "
            "entry of --config-dir"
        )


def prepare(overrides: Sequence[str]) -> list[str]:
    """Quote the values that Hydra would misread, and write out the keys of the prefill and of a measured machine.

    A version is text: 7.10 must not become the number 7.1. Hydra's grammar takes ASCII only, so "80µs" is quoted too.

    >>> prepare(["engine.version=7.10", "device.latency=80µs", "device=nvme"])
    ["engine.version='7.10'", "device.latency='80µs'", 'device=nvme']
    >>> prepare(["engine.version=6.11,7.10", "prefill=fillseq"])
    ["engine.version='6.11','7.10'", 'workload@prefill=fillseq']
    >>> prepare(["prefill.options.bloom_bits=0"])
    ['++prefill.options.bloom_bits=0']
    >>> prepare(["machine=my machine.yaml"])
    ["host.parameters='my machine.yaml'"]
    >>> prepare(["cold_device=hdd", "cold_device.write_cap=80MB/s"])
    ['device@cold_device=hdd', 'cold_device.write_cap=80MB/s']
    """
    prepared = []
    for text in overrides:
        key, equals, value = text.partition("=")
        if key in _INSTANCES:
            key = f"{_INSTANCES[key]}@{key}"
        elif key == "workload.actions" or key.startswith("prefill.options"):  # no entry has this key: Hydra must add it
            key = f"++{key}"
        elif key == MACHINE:  # a file with a parameter set: its constants are those of host, drive and limits
            key, value = PARAMETERS, re.sub(r"[^,]+", lambda m: quote(m[0]), value) if value[:1] not in _QUOTES else value
        if key.lstrip("+") == "engine.version" and "'" not in value and '"' not in value:
            value = re.sub(r"[0-9]+(?:\.[0-9]+)+", r"'\g<0>'", value)
        elif not value.isascii() and not value.startswith(("'", '"', "[", "{")):
            value = quote(value)
        prepared.append(f"{key}{equals}{value}")
    return prepared


def quote(text: str) -> str:
    r"""Quote text for Hydra's override grammar.

    >>> quote("it's")
    "'it\\'s'"
    """
    escaped = re.sub(r"(\\*)'", lambda m: m.group(1) * 2 + r"\'", text)
    trailing = len(escaped) - len(escaped.rstrip("\\"))
    return f"'{escaped}{chr(92) * trailing}'"


def literal(value: object) -> str:
    """Write a plain value in Hydra's override grammar.

    >>> literal(True), literal(None), literal(4), literal("kLZ4"), literal([1, 2])
    ('true', 'null', '4', "'kLZ4'", '[1,2]')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(literal(v) for v in value)}]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{k}:{literal(v)}" for k, v in value.items()) + "}"
    return quote(str(value))


def override_key(override: str) -> str:
    """Return the key that an override sets.

    >>> override_key("+device.write_cap=1"), override_key("~experiment"), override_key("machine=mine.yaml")
    ('device.write_cap', 'experiment', 'host.parameters')
    >>> override_key("device@cold_device=hdd")
    'cold_device'
    """
    group, _, instance = override.partition("=")[0].lstrip("+~").partition("@")
    key = instance if instance in _INSTANCES else group
    return PARAMETERS if key == MACHINE else key


def with_search_path(overrides: Sequence[str], config_dirs: Sequence[ConfigFolder]) -> list[str]:
    """Put the user's folders in front of the folders that an override `hydra.searchpath=[...]` names.

    Hydra reads these folders through `configuration.folders`, which refuses Hydra's own settings in them.
    """
    folders = searched_folders(overrides, config_dirs)
    if not folders:
        return list(overrides)
    from lsmlab.sim.configuration.folders import addresses

    places = [quote(address) for address in addresses(folders, trusted=is_trusted())]
    return [f"hydra.searchpath=[{','.join(places)}]", *(text for text in overrides if override_key(text) != _SEARCH_PATH)]


def searched_folders(overrides: Sequence[str], config_dirs: Sequence[ConfigFolder]) -> list[ConfigFolder]:
    """Return the user's folders with configuration groups. Raises InputError for a search path of something else."""
    folders = list(config_dirs)
    for text in overrides:
        if override_key(text) != _SEARCH_PATH:
            continue
        value = parsed([text])[0].value()
        for place in value if isinstance(value, list) else [value]:
            scheme, mark, path = str(getattr(place, "text", place)).rpartition("://")
            if mark and scheme != "file":
                raise InputError(f"{text}: only folders, such as hydra.searchpath=[file:///home/me/configs]")
            folders.append(Path(path))
    return folders
