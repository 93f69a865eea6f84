"""Catalogue of devices and instances: prices with source and date, and the settings that belong to an entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import build, quantity
from lsmlab.sim.studies.plan.yaml_file import read_mapping

SHIPPED: Final = Path(str(files("lsmlab.configs"))) / "catalogue.yaml"
_MONTHS: Final = 12.0
_PRICES: Final = ("price_usd", "price_usd_per_month", "price_usd_per_gb_month")


@dataclass(frozen=True, kw_only=True)
class PriceEntry:
    """A device or instance with its prices in US dollars. None: unknown, or not charged."""

    device: str | None = None
    """Entry of configs/device; None: that of the same name."""
    set: Any = ()
    """Overrides that belong to the entry, such as host.cores=4."""
    price_usd: float | None = quantity("count", None)
    """Purchase price of one drive or machine."""
    price_usd_per_month: float | None = quantity("count", None)
    """Rent of one machine."""
    price_usd_per_gb_month: float | None = quantity("count", None)
    """Rent of a volume per 10^9 bytes."""
    covers: str = ""
    """What the prices contain, such as "volume without instance"."""
    source: str = ""
    date: Any = None
    """Day of the prices as text, YYYY-MM-DD."""

    @property
    def priced(self) -> bool:
        """Return whether any price is known."""
        return any(getattr(self, name) is not None for name in _PRICES)


@dataclass(frozen=True, kw_only=True)
class AvailabilitySettings:
    """Machines beyond those that the load needs."""

    replicas: int = quantity("count", 1, low=1, high=20)
    """Copies of the data, each on machines of its own; every copy takes all writes, and must be able to take all reads."""
    spare: int = quantity("count", 0, low=0, high=1000)
    """Machines of each copy that may be out of service: the others then have their keys and their load."""


@dataclass(frozen=True, kw_only=True)
class CostSettings:
    """Assumptions of costs."""

    years_of_service: float = quantity("ratio", 4.0, low=0.1, high=50.0)
    """Years over which a purchase price is spread; fewer if the drive wears out earlier."""
    free_space: float = quantity("ratio", 0.25, high=0.95)
    """Share of a volume or drive that stays free, for compactions and growth."""


def read_catalogue(path: Path | None) -> dict[str, PriceEntry]:
    """Return the shipped entries, and those of the user's file, which replace shipped ones of the same name.

    Raises InputError that names file and key; a price without source or date is refused.
    """
    found = _entries(SHIPPED)
    return {**found, **_entries(path)} if path is not None else found


def _entries(path: Path) -> dict[str, PriceEntry]:
    found = {}
    for name, values in read_mapping(path).items():
        if not isinstance(values, Mapping):
            raise InputError(f"{path}: {name}: must be a mapping with device, price_usd, source, date and so on")
        try:
            entry = build(PriceEntry, values, str(name))
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        if entry.priced and not (entry.source and _is_day(entry.date)):
            raise InputError(f"{path}: {name}: a price needs its source and its date (YYYY-MM-DD)")
        found[str(name)] = entry
    return found


def _is_day(text: object) -> bool:
    try:
        return bool(date.fromisoformat(str(text)))
    except ValueError:
        return False


def with_device_price(entry: PriceEntry, device: Mapping[str, Any], price_usd: float | None) -> PriceEntry:
    """Return the entry with the price of configs/device if the catalogue has none."""
    if entry.priced or price_usd is None:
        return entry
    noted = device.get("assumptions") or {}
    return replace(entry, price_usd=price_usd, covers="drive only", source=str(noted.get("price", "configs/device")))


def cost_per_month(entry: PriceEntry, stored_bytes: float, life_years: float | None, settings: CostSettings) -> float | None:
    """Return the US dollars per month of one machine that stores `stored_bytes`; None without a price."""
    if not entry.priced:
        return None
    years = min(settings.years_of_service, life_years if life_years is not None else settings.years_of_service)
    cost = entry.price_usd_per_month or 0.0
    cost += (entry.price_usd or 0.0) / (_MONTHS * max(years, 1.0 / _MONTHS))
    return cost + (entry.price_usd_per_gb_month or 0.0) * stored_bytes / (1.0 - settings.free_space) / 1e9
