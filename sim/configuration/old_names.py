"""Old names of configuration keys: accepted for one release, with a notice on stderr.

Overrides and parameter sets name keys as `host.wal_op`; entries of a user's own folder as nested mappings.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from lsmlab.models.errors import InputError

RENAMED: Final[Mapping[str, str]] = {
    "host.crowding": "host.core_contention",
    "host.log_op": "host.wal_op",
    "host.unlink_log_byte": "host.unlink_wal_byte",
    "engine.picker.log_as_l0": "engine.picker.wal_as_l0",
    "workload.regions": "workload.shards",
    "prefill.regions": "prefill.shards",
}
"""New names by old ones; a release after 0.2 refuses the old ones."""


def new_name(key: str) -> str:
    """The present name of a key; an old one is told on stderr, once per process.

    >>> new_name("host.cores")
    'host.cores'
    """
    name = RENAMED.get(key)
    if name is None:
        return key
    _tell(key, name)
    return name


def rename_keys(config: dict[str, Any]) -> None:
    """Move values under old keys to their new ones, in place.

    Raises InputError for `insert_keys: sharded`, whose `shards` meant key ranges: the word is now an independent tree's.
    """
    for old in RENAMED:
        *path, key = old.split(".")
        group: Any = config
        for part in path:
            group = group.get(part) if isinstance(group, dict) else None
        if isinstance(group, dict) and key in group:
            group[new_name(old).rpartition(".")[2]] = group.pop(key)
    for group_name in ("workload", "prefill"):
        group = config.get(group_name)
        if isinstance(group, dict) and group.get("insert_keys") == "sharded":
            raise InputError(
                f"{group_name}.insert_keys: sharded is called ranges now, and its number insert_ranges instead of shards"
            )


@cache
def _tell(old: str, new: str) -> None:
    sys.stderr.write(f"lsmlab: {old} is called {new} now; the old name will be refused after release 0.2\n")
