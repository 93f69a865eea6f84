"""Space of a sweep: the overrides with several values, ranges of quantities such as 16MiB..256MiB, and common overrides."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.overrides import override_key, parsed, prepare

_BINARY: Final = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
_DECIMAL: Final = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_COUNTS: Final = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_SWITCHES: Final = ("True", "False")
"""Switches as Hydra writes them."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Units of one kind of quantity, from small to large."""

    units: Mapping[str, float]
    logarithmic: bool = False
    """Whether equal ratios count as equal distances, unless the range says otherwise."""


_KINDS: Final = (
    _Kind(_BINARY, logarithmic=True),
    _Kind(_DECIMAL, logarithmic=True),
    _Kind({f"{unit}/s": size for unit, size in _BINARY.items()}, logarithmic=True),
    _Kind({f"{unit}/s": size for unit, size in _DECIMAL.items()}, logarithmic=True),
    _Kind({f"{unit}/s": size for unit, size in _COUNTS.items()}, logarithmic=True),
    _Kind({f"{unit}IOPS": size for unit, size in _COUNTS.items()}, logarithmic=True),
    _Kind({"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}),
    _Kind(_COUNTS),
    _Kind({"%": 1.0}),
)
_END: Final = r"([-+]?(?:\d[\d_]*)(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([A-Za-z/%]*)"
_RANGE: Final = re.compile(rf"{_END}\s*\.\.\s*{_END}(?::(log|linear))?")
_MOST_DIGITS: Final = 3
"""A value of at most this number of significant digits stays as it is."""
_STEPS: Final = 40
"""Smallest number of steps into which rounding divides a linear range."""


@dataclass(frozen=True, slots=True)
class Range:
    """Quantity between two ends, both included."""

    text: str
    """The range as the user wrote it."""
    low: float
    """Lower end in the base unit of `units`."""
    high: float
    units: Mapping[str, float]
    logarithmic: bool
    whole: bool
    """Whether values are whole numbers: both ends are written without unit and point."""
    whole_bytes: bool = False
    """Whether values are whole numbers of bytes."""

    def at(self, share: float) -> str:
        """Return the value at `share` (0 to 1) of the scale, rounded.

        Whole numbers have equal shares of a linear scale each, the ends included.
        """
        if self.whole and not self.logarithmic:
            return str(min(int(self.low) + math.floor(share * (self.high - self.low + 1)), int(self.high)))
        return self._rounded(self._value(share))

    def values(self, count: int) -> list[str]:
        """Return at most `count` different values at equal distances on the scale, from the low end to the high end."""
        if count == 1:
            return [self._rounded(self._value(0.5))]
        return list(dict.fromkeys(self._rounded(self._value(i / (count - 1))) for i in range(count)))

    def _value(self, share: float) -> float:
        if self.logarithmic:
            return self.low * math.exp(share * math.log(self.high / self.low))
        return self.low + share * (self.high - self.low)

    def _rounded(self, value: float) -> str:
        """Write a value with its largest suitable unit, in two significant digits, or three in a narrow range.

        On a linear scale, the width of the range decides about the digits. A value that has few digits stays as it is.
        Bytes are whole: 1200KiB, not 1.2MiB.
        """
        if self.whole:
            return str(round(value))
        smallest = min(self.units.items(), key=lambda unit: unit[1])
        for name, size in sorted(self.units.items(), key=lambda unit: -unit[1]):
            if size <= abs(value) * (1.0 + 1e-9) or name == smallest[0]:
                number = f"{self._number(value / size, size):.12g}"
                if not self.whole_bytes or (float(number) * size).is_integer():
                    return f"{number}{name}"
        return f"{round(value / smallest[1])}{smallest[0]}"

    def _number(self, number: float, size: float) -> float:
        if number and not math.isclose(number, float(f"{number:.{_MOST_DIGITS}g}"), rel_tol=1e-9):
            number = round(number, self._decimals(number, size))
        return min(max(number, self.low / size), self.high / size)

    def _decimals(self, number: float, size: float) -> int:
        if self.logarithmic:
            return (1 if self.high >= 2.0 * self.low else 2) - math.floor(math.log10(abs(number)))
        return -math.floor(math.log10((self.high - self.low) / size / _STEPS))


def parse_range(text: str) -> Range | None:
    """Read a range such as 16MiB..256MiB, 2..8 or 1ms..1s:log; None if the text is no range.

    Bytes and rates (bytes or operations per second) have a logarithmic scale if both ends are positive, all other
    quantities a linear one; ":log" and ":linear" say otherwise. Raises InputError for a range without values.

    >>> parse_range("16MiB..256MiB").values(5)
    ['16MiB', '32MiB', '64MiB', '128MiB', '256MiB']
    >>> [parse_range("16MiB..2GiB").at(share) for share in (0.1, 0.55, 0.9)]
    ['26MiB', '230MiB', '1300MiB']
    >>> parse_range("2..8").at(0.99), parse_range("50%..90%").at(0.333), parse_range("nvme")
    ('8', '63%', None)
    """
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return None
    low_text, low_unit, high_text, high_unit, scale = match.groups()
    low_unit = low_unit or high_unit  # 16..256MiB
    kind = next((k for k in _KINDS if low_unit in k.units and high_unit in k.units), None)
    if kind is None:
        raise InputError(f"{text}: write both ends with units of one kind, such as 16MiB..256MiB or 1ms..1s")
    low = float(low_text) * kind.units[low_unit]
    high = float(high_text) * kind.units[high_unit]
    whole = not (low_unit or high_unit) and (low_text + high_text).replace("-", "").replace("_", "").isdecimal()
    logarithmic = (kind.logarithmic and low > 0.0) if scale is None else scale == "log"
    if low >= high:
        raise InputError(f"{text}: the first end must be smaller than the second one")
    if logarithmic and low <= 0.0:
        raise InputError(f"{text}: a logarithmic scale needs two positive ends")
    return Range(text, low, high, kind.units, logarithmic, whole, kind.units in (_BINARY, _DECIMAL))


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
