"""The drive of configs/device whose figures are nearest to the measured ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.sim.configuration.catalogue import entries, packaged_folder
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.yaml_text import read_yaml
from lsmlab.validation.calibrate.parameter_file import quantity_text

_COMPARED: Final = {
    "write_bandwidth": "bytes_per_s", "read_bandwidth": "bytes_per_s", "read_latency": "seconds", "read_iops": "per_s",
    "fsync_latency": "seconds",
}  # fmt: skip
"""Figures that most entries have, with their kinds."""
_FEWEST: Final = 3


class Nearest(NamedTuple):
    """Entry of configs/device beside the measured drive."""

    entry: str
    description: str
    figures: Mapping[str, tuple[float, float]]
    """(measured, stated) in base units, by key."""
    distance: float
    """Root mean square of the logarithms of the ratios."""
    price: str
    """Price of configs/catalogue.yaml; empty if it has none."""


def nearest(measured: Mapping[str, float]) -> Nearest | None:
    """Return the nearest entry; None if fewer than three figures were measured."""
    found = [one for entry in entries("device") if (one := _compared(entry.name, measured)) is not None]
    return min(found, key=lambda one: one.distance, default=None)


def _compared(entry: str, measured: Mapping[str, float]) -> Nearest | None:
    device: Mapping[str, Any] = compose([f"device={entry}"])["device"]
    figures: dict[str, tuple[float, float]] = {}
    for key, kind in _COMPARED.items():
        if measured.get(key) and device.get(key) is not None:
            try:
                stated = parse_quantity(device[key], kind)
            except InputError:
                continue
            if stated > 0:
                figures[key] = measured[key], stated
    if len(figures) < min(_FEWEST, len(measured)):
        return None
    distance = math.sqrt(sum(math.log(a / b) ** 2 for a, b in figures.values()) / len(figures))
    prices = read_yaml(packaged_folder() / "catalogue.yaml")
    about = prices.get(entry) if isinstance(prices, Mapping) else None
    price = f"{about['price_usd_per_gb_month']} USD per GB and month ({about['date']})" if isinstance(about, Mapping) else ""
    return Nearest(entry, str(device.get("description", "")), figures, distance, price)


def nearest_text(found: Nearest | None) -> str:
    """Return the comparison for the terminal."""
    if found is None:
        return "No drive of the catalogue has enough of the measured figures.\n"
    lines = [f"Nearest drive of the catalogue: {found.entry} ({found.description})" + (f", {found.price}" if found.price else "")]
    for key, (own, stated) in found.figures.items():
        shown = quantity_text(key, own), quantity_text(key, stated)
        lines.append(f"  {key:<18}{shown[0]:>12}   catalogue {shown[1]:>12}   {own / stated:5.2f} x")
    return "\n".join(lines) + "\n"
