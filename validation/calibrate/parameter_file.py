"""Writer of parameter files: constants of a machine with units, sources and standard errors.

docs/reference/cases.md explains the format; `lsmlab.sim.configuration.parameters` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

_ABOUT: Final = "Constants of one machine and its devices, as fitted or measured; docs/reference/cases.md explains the format."
_UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_NUMBERS: Final = ("cores", "assertions", "core_contention", "speed", "spread", "slc_cache")
"""Ends of the names of constants without a unit."""

_ASSUMED: Final = "assumption: "
UNDETERMINED: Final = f"{_ASSUMED}hardly determined by the runs; "
"""Beginning of the source of a constant that the runs do not determine."""

Constants = Mapping[str, float | str]
"""Key to value: a number in base units, or a word such as a layout."""


@dataclass(frozen=True, slots=True)
class SetText:
    """Content of a parameter file."""

    about: Sequence[str]
    """Comment lines: the machine, and the command that wrote the file."""
    head: Sequence[str]
    """Lines with version, description and provenance."""
    host: Constants
    devices: Mapping[str, Constants]
    """Constants by entry of configs/device."""
    host_errors: Constants
    device_errors: Mapping[str, Constants]
    """Standard errors by entry of configs/device."""
    errors_from: str
    """Method by which the standard errors were computed."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Source of a constant, by "key", "host.key" or "device.key", or by "entry.key" if entries differ."""
    alternative: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    """Another explanation of the measurements: value of this set and value instead, by key of limits, device or host."""
    alternative_from: str = ""
    """The other explanation, in words."""

    def __str__(self) -> str:
        """Return the text of the file; the same content gives the same bytes."""
        about = [f"# {line}" for line in (_ABOUT, *self.about)]
        return "\n".join([*about, *self.head, *self._values(), *self._errors(), *self._pairs()]) + "\n"

    def _pairs(self) -> list[str]:
        if not self.alternative:
            return []
        pairs = {key: ", ".join("null" if v is None else f"{v:.10g}" for v in pair) for key, pair in self.alternative.items()}
        return [f"alternative:  # {self.alternative_from}", *(f"  {key}: [{values}]" for key, values in pairs.items())]

    def _values(self) -> list[str]:
        lines = ["host:" if self.host else "host: {}"]
        lines += [self._line("  ", key, value, "host") for key, value in self.host.items()]
        lines.append("devices:" if self.devices else "devices: {}")
        for entry, values in self.devices.items():
            lines.append(f"  {entry}:")
            lines += [self._line("    ", key, value, entry, "device") for key, value in values.items()]
        return lines

    def _line(self, indent: str, key: str, value: float | str, *places: str) -> str:
        names = [*(f"{place}.{key}" for place in places), key]
        source = next((self.sources[name] for name in names if name in self.sources), "fit")
        label = "" if source.startswith(_ASSUMED) else "source: "
        return f"{indent}{key}: {quantity_text(key, value)}  # {label}{source}"

    def _errors(self) -> list[str]:
        lines = [f"standard_errors:  # {self.errors_from}", f"  host: {_inline(self.host_errors)}"]
        lines.append("  devices:" if self.device_errors else "  devices: {}")
        return lines + [f"    {entry}: {_inline(values)}" for entry, values in self.device_errors.items()]


def quantity_text(key: str, value: float | str) -> str:
    """Format a constant with four digits in a suitable unit; a word stays unchanged."""
    if isinstance(value, str):
        return value
    if key.endswith("bandwidth"):
        return f"{value / 1e6:.4g}MB/s" if value < 1e9 else f"{value / 1e9:.4g}GB/s"
    if key.endswith(_NUMBERS):
        return f"{value:.4g}"
    if key.endswith("iops"):
        return f"{value / 1e3:.4g}k"
    if value <= 0.0:
        return "0s"
    scale, unit = next(((s, u) for s, u in _UNITS if value >= s), _UNITS[-1])
    return f"{value / scale:.4g}{unit}"


def _inline(values: Constants) -> str:
    return "{" + ", ".join(f"{k}: {quantity_text(k, v)}" for k, v in values.items()) + "}"
