"""Options of the store while the prefill fills it: `prefill.options`, merged over `engine.options`.

After the prefill, the store is opened again with the options of the run. RocksDB lets almost all options differ then; those
that decide which level a file belongs to must be equal, because the run takes over the levels of the prefill.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.models.engines.engine import Engine
from lsmlab.models.engines.make import make_engines
from lsmlab.models.errors import InputError
from lsmlab.models.options.options import value_of
from lsmlab.models.options.values import flatten, plain

WHERE: Final = "prefill.options"
_OF_THE_TREE: Final[Mapping[str, str]] = {
    "compaction_style": "RocksDB reads the levels of one style differently in another",
    "num_levels": "the tree has the levels of the run",
}
"""Options that must be those of the run, with the reason (wiki: Leveled Compaction; Universal Compaction)."""


def prefill_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return `prefill.options` by flat name, without options that are null. Raises InputError for an unknown name."""
    prefill = config.get("prefill")
    options = (prefill.get("options") if isinstance(prefill, Mapping) else None) or {}
    if not isinstance(options, Mapping):
        raise InputError(f"{WHERE}: must be a mapping of RocksDB's options, such as {{bloom_bits: 0}}")
    return flatten(options, WHERE)


def prefill_engine(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `engine` group with which the prefill runs."""
    engine: Mapping[str, Any] = config["engine"]
    own = prefill_options(config)
    return {**engine, "options": {**flatten(engine.get("options") or {}), **own}} if own else engine


def prefill_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of the phase that fills the databases: the prefill is its workload."""
    prefill = {key: value for key, value in config["prefill"].items() if key != "options"}
    families = prefill.get("families") or config["workload"].get("families")
    workload = {**prefill, "families": families}
    return {**config, "engine": prefill_engine(config), "workload": workload, "conditions": None, "prefill": None}


def prefill_engines(
    config: Mapping[str, Any], measured: Mapping[str, Engine], allowed: Sequence[str] = ()
) -> dict[str, Engine]:
    """Return the engine of each column family during the prefill; those of the run, `measured`, without options of its own.

    Raises InputError that names the option if RocksDB, or the simulator, cannot open the filled store for the run.
    """
    if not prefill_options(config):
        return dict(measured)
    try:
        engines = make_engines(prefill_engine(config), allowed)
    except InputError as error:
        raise InputError(str(error).replace("engine.options", WHERE, 1)) from None
    for name, engine in engines.items():
        for option, reason in _OF_THE_TREE.items():
            filled, run = (value_of(one.options, option) for one in (engine, measured[name]))
            if filled != run:
                raise InputError(
                    f"{WHERE}.{option}: {plain(filled)} must equal the run's, {plain(run)}, because {reason}; remove it or "
                    f"set engine.options.{option}"
                )
    return engines
