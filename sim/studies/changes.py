"""Changes of an alternative in words: replaced entries and values, and the facts that stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lsmlab.models.units import format_bytes
from lsmlab.sim.configuration.overrides import override_key
from lsmlab.sim.runs.index import flat, typed_value

GROUPS: Final = ("engine", "device", "host", "limits", "conditions", "workload", "keys", "experiment")
_CAPS: Final = ("write_cap", "read_cap", "iops_cap")


def changes_of(overrides: Sequence[str], present: Mapping[str, Any], alternative: Mapping[str, Any]) -> list[str]:
    """Return one text for each change: `device: imported -> sata`, `host.cores: 16 -> 4`.

    Options that another engine sets itself follow the engine; other values of a replaced group are left out.
    """
    before, after = dict(flat(present)), dict(flat(alternative))
    texts: list[str] = []
    for override in overrides:
        key = override_key(override)
        if key in GROUPS:
            texts.append(f"{key}: {_name(present, key)} -> {override.partition('=')[2]}")
            if key == "engine":
                texts += [
                    f"{name}: {_text(present, name)} -> {_text(alternative, name)}"
                    for name, value in after.items()
                    if name.startswith("engine.options.") and value is not None and before.get(name) != value
                ]
        else:
            texts.append(f"{key}: {_text(present, key)} -> {_text(alternative, key)}")
    return list(dict.fromkeys(texts))


def kept_facts(overrides: Sequence[str], alternative: Mapping[str, Any]) -> list[str]:
    """Return the facts that stay although an entry was replaced, as sentences."""
    keys = {override_key(text) for text in overrides}
    facts = []
    if "device" in keys:
        facts.append("the load, the options and the CPU costs stay")
        caps = _caps(alternative)
        if caps and "limits" not in keys:
            stay = "stays" if len(caps) == 1 else "stay"
            facts.append(f"{', '.join(caps)} {stay} although the drive is another one; limits=none lifts caps")
        cache = typed_value((alternative.get("device") or {}).get("page_cache"))
        if isinstance(cache, int | float) and cache > 0:
            facts.append(f"the page cache of {format_bytes(cache)} stays")
    if "engine" in keys:
        version = (alternative.get("engine") or {}).get("version")
        facts.append(f"the load, the machine, release {version} and all options that the engine does not set stay")
    if "workload" in keys:
        facts.append("the options and the machine stay")
    return facts


def _caps(config: Mapping[str, Any]) -> list[str]:
    """Return the caps in force, by key with value."""
    limits, device = config.get("limits") or {}, config.get("device") or {}
    found = []
    for key in _CAPS:
        group = "device" if device.get(key) is not None else "limits"
        value = device.get(key) if group == "device" else limits.get(key)
        if value is not None:
            found.append(f"{group}.{key}={_rate(value) if key != 'iops_cap' else value}")
    return found


def _rate(value: object) -> str:
    number = typed_value(value)
    return f"{number / 1e6:,.0f}MB/s" if isinstance(number, int | float) else str(value)


def _name(config: Mapping[str, Any], group: str) -> str:
    entry = config.get(group)
    name = entry.get("name") if isinstance(entry, Mapping) else None
    return str(name) if name else "present"


def _text(config: Mapping[str, Any], key: str) -> str:
    """Return a value as the configuration writes it; whole numbers of KiB with their unit."""
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**16 and value % 1024 == 0:
        return format_bytes(value)
    return "default" if value is None else str(value)
