"""Space of a sweep: the overrides with several values, and those that all runs share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.overrides import override_key, parsed, prepare
from lsmlab.sim.studies.sweep.ranges import Range, parse_range

_SWITCHES: Final = ("True", "False")
"""Switches as Hydra writes them."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """Key of the configuration that takes several values."""

    key: str
    """Key as in an override, such as engine.options.max_background_jobs, device or engine/scheduler."""
    choices: tuple[str, ...] = ()
    """Values of a list, as in an override (with quotes); empty for a range."""
    range: Range | None = None

    def at(self, share: float) -> str:
        """Return the value at `share` (0 to 1); the values of a list have equal parts of this scale."""
        if self.range is not None:
            return self.range.at(share)
        return self.choices[min(math.floor(share * len(self.choices)), len(self.choices) - 1)]

    def values(self, count: int) -> list[str]:
        """Return the values of a grid: all of a list, `count` of a range."""
        return self.range.values(count) if self.range is not None else list(self.choices)


@dataclass(frozen=True, slots=True)
class SweepSpace:
    """Dimensions of a sweep, and its common overrides."""

    fixed: tuple[str, ...]
    dimensions: tuple[Dimension, ...]


def parse_space(overrides: Sequence[str]) -> SweepSpace:
    """Separate overrides with several values from the others.

    Several values are a comma list, Hydra's choice() or range(), or a range such as 16MiB..256MiB. Raises InputError for
    a key that occurs twice, for a list of seeds, and for a sweep without any dimension.

    >>> space = parse_space(["device=nvme,sata", "workload.num=1M", "engine.options.max_background_jobs=2..8"])
    >>> [d.key for d in space.dimensions], space.fixed, space.dimensions[1].at(0.0)
    (['device', 'engine.options.max_background_jobs'], ('workload.num=1M',), '2')
    """
    fixed: list[str] = []
    dimensions: dict[str, Dimension] = {}
    for given, text in zip(overrides, prepare(overrides), strict=True):
        key, _, value = text.partition("=")
        between = parse_range(value)
        if between is not None:
            dimension = Dimension(key, range=between)
        else:
            (override,) = parsed([text])
            if not override.is_sweep_override():
                fixed.append(given)
                continue
            if not override.is_discrete_sweep():
                raise InputError(f"{given}: write a range as {key}=LOW..HIGH")
            key = override.get_key_element()
            values = (v.lower() if v in _SWITCHES else v for v in override.sweep_string_iterator())
            dimension = Dimension(key, tuple(dict.fromkeys(values)))
        if key in dimensions:
            raise InputError(f"{given}: {key} has several values twice; write one list or range")
        dimensions[key] = dimension
    if "seed" in dimensions:
        raise InputError("seed: a sweep repeats each configuration with --replications N, from seed=FIRST on")
    if not dimensions:
        raise InputError("a sweep needs a key with several values, such as device=nvme,sata or KEY=16MiB..256MiB")
    clash = next((text for text in fixed if override_key(text) in map(override_key, dimensions)), None)
    if clash is not None:
        raise InputError(f"{clash}: {override_key(clash)} has several values elsewhere in this command; remove one of them")
    return SweepSpace(tuple(fixed), tuple(dimensions.values()))
