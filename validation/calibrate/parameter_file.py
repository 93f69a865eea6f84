"""Write fitted constants as files that people read: values with units, where they come from, how well they are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parents[2] / "configs" / "parameters"
_UNITS: Final = ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"))


def quantity_text(key: str, value: float | str) -> str:
    """A constant in the unit that suits it, four digits; a word as it is."""
    if isinstance(value, str):
        return value
    if key.endswith("bandwidth"):
        return f"{value / 1e6:.4g}MB/s" if value < 1e9 else f"{value / 1e9:.4g}GB/s"
    if key in ("cores", "crowding", "slc_cache"):
        return f"{value:.4g}"
    if value <= 0.0:
        return "0s"
    scale, unit = next(((s, u) for s, u in reversed(_UNITS) if value >= s), _UNITS[0])
    return f"{value / scale:.4g}{unit}"


def write_set(name: str, about: Sequence[str], head: Mapping[str, Any], content: Mapping[str, Any]) -> Path:
    """Replace configs/parameters/NAME.yaml; `about` are comment lines, `head` version, description and provenance."""
    lines = [
        "# Constants of one machine and its devices, as fitted or measured; docs/reference/cases.md explains the format."
    ]
    lines += [f"# {line}" for line in about]
    lines += [f"{key}: {value}" for key, value in head.items()]
    lines.append("host:")
    sources = content.get("sources", {})
    for key, value in content["host"].items():
        lines.append(f"  {key}: {quantity_text(key, value)}  # source: {sources.get(key, 'fit')}")
    lines.append("devices:" if content["devices"] else "devices: {}")
    for device, values in content["devices"].items():
        lines.append(f"  {device}:")
        for key, value in values.items():
            source = sources.get(f"{device}.{key}", sources.get(key, "fit"))
            lines.append(f"    {key}: {quantity_text(key, value)}  # source: {source}")
    errors = content["standard_errors"]
    lines.append("standard_errors:  # leaving one LOG out at a time; of bandwidths the spread between sessions")
    lines.append("  host: " + _inline(errors["host"]))
    lines.append("  devices:" if errors["devices"] else "  devices: {}")
    lines += [f"    {device}: {_inline(values)}" for device, values in errors["devices"].items()]
    path = FOLDER / f"{name}.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _inline(values: Mapping[str, float]) -> str:
    return "{" + ", ".join(f"{k}: {quantity_text(k, v)}" for k, v in values.items()) + "}"


def write_sessions(path: Path, sessions: Mapping[str, Mapping[str, float]]) -> None:
    """Replace the table of devices' conditions by session."""
    lines = [
        "# Write bandwidth of the 40-thread machine's devices by session, in bytes per second, fitted to the job records of",
        "# each session's calibration run: python -m lsmlab.validation.calibrate.public --write",
    ]
    for session, rates in sessions.items():
        lines.append(f'"{session}": ' + "{" + ", ".join(f"{d}: {r:.3e}" for d, r in rates.items()) + "}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
