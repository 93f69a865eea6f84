"""Old names of configuration keys and of modules in `_target_`: accepted for one release, with a notice on stderr.

Old keys may come with dots, as `host.wal_op` in overrides and parameter sets, or as nested mappings in users' entries.
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
"""New name by old name of a key; the release after 0.2 refuses the old names."""
_POLICIES: Final = "lsmlab.models.policies."
MOVED: Final[Mapping[str, str]] = {
    "lsmlab.models.engines.rocksdb_parts": f"{_POLICIES}rocksdb.parts",
    f"{_POLICIES}adoc": f"{_POLICIES}adoc.tuner",
    f"{_POLICIES}adoc_code": f"{_POLICIES}adoc.released",
    f"{_POLICIES}fixed_size": f"{_POLICIES}pebblesdb.parts",
    f"{_POLICIES}l0_queue": f"{_POLICIES}vlsm.l0_queue",
    f"{_POLICIES}leveldb": f"{_POLICIES}leveldb.picker",
    f"{_POLICIES}leveldb_parts": f"{_POLICIES}leveldb.parts",
    f"{_POLICIES}overflow": f"{_POLICIES}vlsm.overflow",
    f"{_POLICIES}pebblesdb": f"{_POLICIES}pebblesdb.picker",
    f"{_POLICIES}pebblesdb_clients": f"{_POLICIES}pebblesdb.parts",
    f"{_POLICIES}silk": f"{_POLICIES}silk.scheduler",
    f"{_POLICIES}silk_code": f"{_POLICIES}silk.released",
    f"{_POLICIES}vlsm": f"{_POLICIES}vlsm.picker",
    f"{_POLICIES}vsst": f"{_POLICIES}vlsm.vsst",
}
"""New module by module of release 0.1.0, for `_target_`; the release after 0.2 refuses the old names."""


def new_name(key: str) -> str:
    """Return the new name of a key; print a notice on stderr for an old name, once per process.

    >>> new_name("host.cores")
    'host.cores'
    """
    name = RENAMED.get(key)
    if name is None:
        return key
    _tell(key, name)
    return name


def rename_keys(config: dict[str, Any]) -> None:
    """Move values from old keys to new keys, in place.

    Raises InputError for `insert_keys: sharded`: its `shards` meant key ranges, and a shard is now an independent tree.
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


def rename_targets(node: object) -> None:
    """Replace every `_target_` in a moved module of release 0.1.0 by its new name, in place."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "_target_" and isinstance(value, str):
                node[key] = new_target(value)
            else:
                rename_targets(value)
    elif isinstance(node, list):
        for item in node:
            rename_targets(item)


def new_target(target: str) -> str:
    """Return the new name of a class; print a notice on stderr for an old name, once per process.

    >>> new_target("lsmlab.models.engines.engine.Engine")
    'lsmlab.models.engines.engine.Engine'
    """
    module, _, name = target.rpartition(".")
    if module not in MOVED:
        return target
    new = f"{MOVED[module]}.{name}"
    _tell(target, new)
    return new


@cache
def _tell(old: str, new: str) -> None:
    sys.stderr.write(f"lsmlab: {old} is called {new} now; the old name will be refused after release 0.2\n")
