"""Engines from configuration mappings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lsmlab.models.engines.engine import Engine
from lsmlab.models.engines.rocksdb import RocksDb, RocksDbSettings
from lsmlab.models.units import build

METADATA: Final = ("description", "source", "citation", "assumptions", "options_file")
"""Keys of an engine's YAML that inform readers, or that the command line has already acted on."""


def make_engine(values: Mapping[str, Any]) -> Engine:
    """The engine that an `engine` mapping describes. Raises InputError for unknown keys and bad values."""
    return RocksDb(build(RocksDbSettings, {k: v for k, v in values.items() if k not in METADATA}, "engine"))
