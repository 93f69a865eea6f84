"""Parameter sets: constants of one machine and its devices, measured or fitted, with their standard errors.

A set is a file configs/parameters/NAME.yaml; `host.parameters=NAME` applies it (docs/reference/cases.md). A set in any other
file, such as one of `lsmlab measure`, is applied by `machine=PATH`, which is short for `host.parameters=PATH`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.units import parse_quantity
from lsmlab.sim.configuration.catalogue import ConfigFolder, MemoryFolder, packaged_folder, read_inside
from lsmlab.sim.configuration.overrides import PARAMETERS, override_key
from lsmlab.sim.yaml_text import parse_yaml, read_yaml_text

_KEYS: Final = (
    "version", "description", "provenance", "host", "devices", "limits", "standard_errors", "alternative",
)  # fmt: skip
_REPLACED: Final = ("limits", "device", "host")
"""Groups whose keys an alternative may replace."""
_FILE: Final = (".yaml", ".yml")
"""Ends of the names of files with a parameter set; the name of an entry of configs/parameters has none."""
_SPEEDS: Final = ("device.write_bandwidth", "device.write_cap", "device.iops_cap", "limits.write_cap", "limits.iops_cap")
"""Keys by which a user gives the speed at which his drive writes."""
_KINDS: Final = ("seconds", "bytes_per_s", "bytes", "per_s", "count", "ratio")


@dataclass(frozen=True, slots=True)
class ParameterSet:
    """Constants of one machine and its devices."""

    name: str
    version: int
    host: Mapping[str, Any]
    """Values of the `host` group by key."""
    devices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Values of the `device` group by key, for each entry of configs/device."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Values of the `limits` group by key."""
    standard_errors: Mapping[str, float] = field(default_factory=dict)
    """Standard errors by key, such as "host.write_op" or "devices.nvme.write_bandwidth", in base units."""
    alternative: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Another explanation of the same measurements: (value of this set, value instead) by key of limits, device or host, such
    as "limits.iops_cap"."""

    @property
    def file(self) -> str:
        """File of the set, for messages."""
        return self.name if self.name.endswith(_FILE) else f"parameters/{self.name}.yaml"


def read_parameters(name: str, folders: Sequence[ConfigFolder] = ()) -> ParameterSet:
    """Read the set called `name` from `folders`/parameters or configs/parameters; the first file found counts.

    A name that ends in .yaml is the path of a file, relative to the working directory. Raises InputError that names file and
    key for an unknown set or invalid content.
    """
    if name.endswith(_FILE):
        path = Path(name).expanduser()
        if not path.is_file():
            raise InputError(f"machine={name}: no such file; 'lsmlab measure' writes one")
        return _read(name, path, read_yaml_text(path))
    file = f"parameters/{name}.yaml"
    known: set[str] = set()
    for folder in (*folders, packaged_folder()):
        if isinstance(folder, MemoryFolder):
            if file in folder.files:
                return _read(name, Path(folder.name, file), folder.files[file])
        elif (folder / file).is_file():
            return _read(name, folder / file, read_inside(folder / file, folder))
        else:
            known |= {path.stem for path in (folder / "parameters").glob("*.yaml")}
    raise InputError(
        f"host.parameters: no parameter set {name!r}; known: {', '.join(sorted(known))} (configs/parameters); "
        "the name of a file with a set ends in .yaml"
    )


@lru_cache(maxsize=100)
def _read(name: str, path: Path, text: str) -> ParameterSet:
    """Read the set in the text of a file."""
    content = parse_yaml(text, path)
    if not isinstance(content, Mapping):
        raise InputError(f"{path}: must be a mapping with the keys {', '.join(_KEYS)}")
    for key in sorted(map(str, content.keys() - _KEYS)):
        raise InputError(f"{path}: {key}: no such key; a parameter set has {', '.join(_KEYS)}")
    host = _mapping(content, "host", path)
    devices = {str(k): _mapping({k: v}, k, path, "devices.") for k, v in _mapping(content, "devices", path).items()}
    errors = _mapping(content, "standard_errors", path)
    flat = {
        f"host.{k}": _number(v, f"{path}: standard_errors.host.{k}")
        for k, v in _mapping(errors, "host", path).items()
    }
    for device, values in _mapping(errors, "devices", path).items():
        for key, value in _mapping({device: values}, device, path, "standard_errors.devices.").items():
            flat[f"devices.{device}.{key}"] = _number(value, f"{path}: standard_errors.devices.{device}.{key}")
    version = content.get("version", 0)
    if not isinstance(version, int):
        raise InputError(f"{path}: version: {version!r} must be a whole number")
    instead = _alternative(_mapping(content, "alternative", path), path)
    return ParameterSet(name, version, host, devices, _mapping(content, "limits", path), flat, instead)


def _alternative(content: Mapping[str, Any], path: Path) -> dict[str, tuple[Any, Any]]:
    """Check the other explanation of a set: pairs of values by key."""
    for key, pair in content.items():
        if str(key).partition(".")[0] not in _REPLACED or not isinstance(pair, list) or len(pair) != 2:
            raise InputError(
                f"{path}: alternative.{key}: must be a key of limits, device or host with a pair of values, such as "
                "'limits.iops_cap: [null, 500]'"
            )
    return {str(key): (pair[0], pair[1]) for key, pair in content.items()}


def _mapping(content: Mapping[str, Any], key: str, path: Path, where: str = "") -> Mapping[str, Any]:
    value = content.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{path}: {where}{key}: {value!r} must be a mapping of constants")
    return value


def _number(value: Any, where: str) -> float:
    """Parse a quantity in base units; its unit gives the kind."""
    for kind in _KINDS:
        try:
            return parse_quantity(value, kind)
        except (InputError, TypeError):
            continue
    raise InputError(f"{where}: {value!r} is not a quantity")


def apply_parameters(
    config: dict[str, Any], devices: Mapping[str, str | None], given: Iterable[str], folders: Sequence[ConfigFolder] = ()
) -> None:
    """Put the constants of the set that `host.parameters` names into a composed configuration.

    Args:
        config: the configuration; changed in place.
        devices: name of the chosen entry of configs/device by key, such as "device".
        given: keys that the user overrides; they keep their values.
        folders: further folders of configuration groups, whose parameters/ contains sets.

    """
    host = config.get("host")
    name = host.get("parameters") if isinstance(host, dict) else None
    if name is None:
        return
    parameter_set = read_parameters(str(name), folders)
    typed = set(given)
    drives = [(key, parameter_set.devices.get(entry or "", {})) for key, entry in devices.items() if config.get(key)]
    for group, values in (("host", parameter_set.host), *drives, ("limits", parameter_set.limits)):
        for key, value in values.items():
            if key not in config[group]:
                raise InputError(f"{parameter_set.file}: {group}.{key}: no such key; see 'lsmlab show {group} ENTRY'")
            if f"{group}.{key}" not in typed:
                config[group][key] = value
    config["parameters"] = _known_errors(parameter_set, config, devices["device"], typed)


def with_drive(overrides: Sequence[str]) -> list[str]:
    """Choose the drive of a measured machine: add `device=ENTRY` to prepared overrides that name its file and no device.

    A file with several drives, or none, chooses nothing. Raises InputError for several files with different drives.
    """
    found = [text.partition("=")[2] for text in overrides if override_key(text) == PARAMETERS]
    names = [part.strip("'\"") for text in found for part in text.split(",")]
    files = [name for name in names if name.endswith(_FILE)]
    if not files or any(override_key(text) == "device" for text in overrides):
        return list(overrides)
    drives = [list(read_parameters(name).devices) for name in files]
    if any(drive != drives[0] for drive in drives):
        raise InputError(f"machine={','.join(files)}: their drives differ; choose one with device=ENTRY, or use compare")
    return [*overrides, *(f"device={entry}" for entry in drives[0] if len(drives[0]) == 1)]


def _known_errors(
    parameter_set: ParameterSet, config: Mapping[str, Any], device: str | None, typed: set[str]
) -> dict[str, Any]:
    """Return the standard errors of the constants that this configuration uses, by key, and the drive that was measured.

    `drive` is the name of the device if the set has constants of it, or an override gives its bandwidth or a cap; else None.
    `empty`: the set has no constant, as that of imported statistics, which show nothing of their machine.
    The alternative of the set counts only while the configuration has the values that it replaces: those of limits and drive
    together, and those of the host.
    """
    standard = {}
    for key, error in parameter_set.standard_errors.items():
        name = key.replace(f"devices.{device}.", "device.", 1)
        group, _, constant = name.partition(".")
        if group in ("host", "device"):
            if constant not in config[group]:
                raise InputError(f"{parameter_set.file}: standard_errors: {name}: no such key of {group}")
            if name not in typed and error > 0:
                standard[name] = error
    measured = device in parameter_set.devices or not typed.isdisjoint(_SPEEDS)
    known: dict[str, Any] = {"standard_errors": standard, "drive": config["device"].get("name") if measured else None}
    if not (parameter_set.host or parameter_set.devices or parameter_set.limits):
        known["empty"] = True
    instead: dict[str, Any] = {}
    for groups in (("limits", "device"), ("host",)):
        pairs = {key: pair for key, pair in parameter_set.alternative.items() if key.partition(".")[0] in groups}
        if all(_value(config, key) == now for key, (now, _) in pairs.items()):
            instead |= {key: other for key, (_, other) in pairs.items()}
    return {**known, "alternative": instead} if instead else known


def _value(config: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key such as "limits.iops_cap"; None if the configuration does not have it."""
    group, _, name = key.partition(".")
    return (config.get(group) or {}).get(name)


def perturbed(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return two configurations whose uncertain constants are off by one standard error, in opposite directions.

    To first order, half the difference between their results is the standard error of a result. A checksum of its key
    decides whether a constant goes up or down in the first configuration; the choice is the same in all configurations,
    because all runs share the error of a constant. A constant goes up and down by the same factor. The second
    configuration has the values of the set's alternative, if there is one: of two values that are equally likely, half the
    difference is the standard error. Returns an empty list if no constant has a standard error and there is no alternative.
    """
    about = config.get("parameters") or {}
    errors: Mapping[str, float] = about.get("standard_errors") or {}
    instead: Mapping[str, Any] = about.get("alternative") or {}
    if not errors and not instead:
        return []
    pair = []
    for direction in (1, -1):
        changed = {**config, **{group: dict(config.get(group) or {}) for group in _REPLACED}}
        for key, value in instead.items() if direction < 0 else ():
            group, _, constant = key.partition(".")
            changed[group][constant] = value
        for key, error in errors.items():
            group, _, constant = key.partition(".")
            if key in instead:
                continue
            value = _number(changed[group][constant], key)
            up = direction if zlib.crc32(key.encode()) % 2 else -direction
            changed[group][constant] = value * (1.0 + error / value) ** up if value > 0 else value
        pair.append(changed)
    return pair
