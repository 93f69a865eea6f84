"""All combinations of the policies in configs/engine, and a small subset that contains every compatible pair.

A new entry is included without a change here. RocksDB's picker counts three times, once per compaction style.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.engines.make import make_engine
from lsmlab.models.errors import InputError
from lsmlab.models.policies.parts import GROUPS, Base, Parts, make_part
from lsmlab.models.version import Version
from lsmlab.sim.configuration.compose import compose

FOLDER: Final = Path(__file__).parents[1] / "configs" / "engine"
STYLES: Final = {"universal": "kCompactionStyleUniversal", "fifo": "kCompactionStyleFIFO"}
"""Further names for engine/picker=rocksdb, each with its `compaction_style`."""
SMALL: Final = (
    "engine.options.write_buffer_size=1MiB", "engine.options.target_file_size_base=1MiB",
    "engine.options.max_bytes_for_level_base=4MiB", "engine.options.max_bytes_for_level_multiplier=4",
    "engine.options.max_background_jobs=4", "engine.options.use_direct_reads=true",
    "engine.options.use_direct_io_for_flush_and_compaction=true", "device=samsung_970_pro",
    "device.write_cap=30MiB/s", "workload=peaks_valleys", "workload.num=20000", "workload.value_size=1000",
    "workload.duration=6s", "workload.valley=1s", "workload.valley_rate=1000", "workload.peak=2s",
    "workload.peak_rate=7000", "workload.read=0", "workload.update=1",
    "keys=exact",
)  # fmt: skip
"""A store of 20 MB whose peak load exceeds the device's bandwidth, so that jobs overlap."""
SCALED: Final = {
    "total_bandwidth": "30MB/s", "least_bandwidth": "5MB/s", "slack": 0, "hysteresis": "1MB/s", "chunk": "256KiB",
    "top_level_bits": 20, "overflow_limit": "1MiB", "l2_capacity": "32MiB",
    "least_batch": "1MiB", "step_batch": "1MiB", "most_batch": "8MiB",
}  # fmt: skip
"""Settings that depend on the size of the device or the store, for each policy that has them switched on."""

Combination = tuple[str, ...]
"""Names of the entries, in the order of GROUPS."""
Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two (group, entry)."""


def names(group: str) -> list[str]:
    """Return the entries of a group."""
    found = [p.stem for p in sorted((FOLDER / group).glob("*.yaml")) if not p.stem.startswith("_")]
    return [*found, *STYLES] if group == "picker" else found


def engines() -> list[str]:
    """Return the entries of the engine group."""
    return [p.stem for p in sorted(FOLDER.glob("*.yaml")) if not p.stem.startswith("_")]


@dataclass(frozen=True)
class Matrix:
    """Combinations and pairs of policies, allowed and refused."""

    base: Mapping[str, Any]
    """Configuration of a small run of plain RocksDB."""
    settings: Mapping[tuple[str, str], Mapping[str, Any]]
    """Settings of each (group, entry)."""
    allowed: tuple[Combination, ...]
    design: tuple[Combination, ...]
    """Few combinations that contain all pairs of the allowed ones."""
    refused: Mapping[Pair, str]
    """Pairs that no allowed combination contains, each with the message for the user."""

    def config(self, combination: Combination) -> dict[str, Any]:
        """Return the configuration of a run with this combination."""
        config = copy.deepcopy(dict(self.base))
        config["engine"] |= {g: dict(self.settings[g, n]) for g, n in zip(GROUPS, combination, strict=True)}
        if combination[0] in STYLES:
            config["engine"]["options"]["compaction_style"] = STYLES[combination[0]]
        return config


@lru_cache(maxsize=1)
def matrix() -> Matrix:
    """Return the matrix of all entries."""
    base, settings = _composed()
    groups = [names(group) for group in GROUPS]
    parts = {key: make_part(key[0], values) for key, values in settings.items()}
    bases = {picker: _base(base, picker) for picker in groups[0]}
    reasons: dict[Combination, str | None] = {}
    for combination in product(*groups):
        chosen = Parts(*(parts[group, name] for group, name in zip(GROUPS, combination, strict=True)))
        try:
            chosen.check(bases[combination[0]])
            reasons[combination] = None
        except InputError as error:
            reasons[combination] = str(error)
    allowed = tuple(c for c, reason in reasons.items() if reason is None)
    return Matrix(base, settings, allowed, _cover(allowed), _refused(groups, allowed, reasons))


def _composed() -> tuple[dict[str, Any], dict[tuple[str, str], dict[str, Any]]]:
    settings: dict[tuple[str, str], dict[str, Any]] = {}
    columns = {group: [n for n in names(group) if n not in STYLES] for group in GROUPS}
    base = compose([*SMALL, "checks=true"])
    for row in range(max(map(len, columns.values()))):
        chosen = {group: column[min(row, len(column) - 1)] for group, column in columns.items()}
        engine = compose([f"engine/{group}={name}" for group, name in chosen.items()])["engine"]
        for group, name in chosen.items():
            settings[group, name] = {k: SCALED.get(k, v) if v else v for k, v in engine[group].items()}
    for style in STYLES:
        settings["picker", style] = settings["picker", "rocksdb"]
    return dict(base), settings


def _base(config: Mapping[str, Any], picker: str) -> Base:
    engine = copy.deepcopy(dict(config["engine"]))
    if picker in STYLES:
        engine["options"]["compaction_style"] = STYLES[picker]
    plain = make_engine(engine)
    return Base(plain.options, Version.parse(str(plain.version)))


def pairs(combination: Combination) -> list[Pair]:
    """Return all pairs of a combination."""
    return list(combinations(zip(GROUPS, combination, strict=True), 2))


def _cover(allowed: tuple[Combination, ...]) -> tuple[Combination, ...]:
    """Choose combinations greedily: repeatedly take the one with the most missing pairs until none is missing."""
    numbers: dict[Pair, int] = {}
    table = np.array([[numbers.setdefault(p, len(numbers)) for p in pairs(c)] for c in allowed])
    missing = np.ones(len(numbers), dtype=np.bool_)
    chosen = []
    while missing.any():
        best = int(missing[table].sum(axis=1).argmax())
        missing[table[best]] = False
        chosen.append(allowed[best])
    return tuple(chosen)


def _refused(
    groups: list[list[str]], allowed: tuple[Combination, ...], reasons: Mapping[Combination, str | None]
) -> dict[Pair, str]:
    """Return the pairs that no allowed combination contains, each with the error of a combination that contains it."""
    known = {pair for combination in allowed for pair in pairs(combination)}
    found: dict[Pair, str] = {}
    for (i, first), (j, second) in combinations(enumerate(GROUPS), 2):
        for a, b in product(groups[i], groups[j]):
            pair: Pair = ((first, a), (second, b))
            if pair in known:
                continue
            with_a = next(([*c[:j], b, *c[j + 1 :]] for c in allowed if c[i] == a), None)
            with_b = next(([*c[:i], a, *c[i + 1 :]] for c in allowed if c[j] == b), None)
            error_text = reasons[tuple(with_a or with_b or [])] if with_a or with_b else None
            found[pair] = error_text or "no allowed combination contains either of them"
    return found
