"""Combinations for `lsmlab compare`: all combinations of the comma lists, each with every variant of --variants."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.configuration.catalogue import packaged_folder
from lsmlab.sim.configuration.overrides import parsed, prepare
from lsmlab.sim.configuration.trust import refuse_hydra
from lsmlab.sim.yaml_text import read_yaml

GROUP: Final = "comparison"
"""Folder of configs with the files of variants."""
_KEYS: Final = ("description", "overrides", "variants", "settings")
_BRACES: Final = re.compile(r"\{\{|\}\}|\{(\w+)\}")
"""Braces that stand for themselves, and names of values."""
_LONGEST_VALUE: Final = 1000
"""Largest length of a setting's value in characters."""
_MOST: Final = 100_000
"""Largest number of configurations of a command."""
_OF_A_VARIANT: Final = ("description", "overrides", "parents")


@dataclass(frozen=True, slots=True)
class Combination:
    """One configuration to run."""

    overrides: list[str]
    chosen: dict[str, str]
    """Values in which it differs from the other combinations, by key, as on the command line (with quotes)."""


@dataclass(frozen=True, slots=True)
class VariantsFile:
    """Content of a file of named configurations: each variant is run in each setting."""

    description: str
    overrides: tuple[str, ...]
    """Overrides for all variants."""
    variants: Mapping[str, tuple[str, ...]]
    """Overrides of each variant by its name."""
    parents: Mapping[str, tuple[str, ...]]
    """Names of the variants that a variant combines, by its name."""
    settings: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = field(default_factory=dict)
    """Overrides of each setting, and values for the `{name}` in the overrides of variants."""

    def combinations(self) -> list[Combination]:
        """Return every variant in every setting."""
        result = []
        for setting, (setting_overrides, values) in (self.settings or {"": ((), {})}).items():
            for name, overrides in self.variants.items():
                chosen = {"variant": name, **({"setting": setting} if setting else {})}
                try:
                    formatted = [_filled(text, values) for text in overrides]
                except KeyError as error:
                    raise InputError(f"variant {name}: setting {setting or 'none'} has no value for {error}") from None
                except InputError as error:
                    raise InputError(f"variant {name}: {error}") from None
                result.append(Combination([*self.overrides, *setting_overrides, *formatted], chosen))
        return result

    def as_json(self) -> dict[str, Any]:
        """Return the content of variants.json, which the page of the comparison reads."""
        return {
            "description": self.description, "variants": list(self.variants), "settings": list(self.settings),
            "parents": {name: list(of) for name, of in self.parents.items()},
        }  # fmt: skip


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Return an override with a setting's values in place of their names in braces, and without the second of two braces.

    Python's own formats are not read: a width or an attribute in them would let a file use up memory, or read objects.
    Raises KeyError for a name without a value, InputError for other braces.

    >>> _filled("engine.cutter={{_target_: {cutter}}}", {"cutter": "my.Cutter"})
    'engine.cutter={_target_: my.Cutter}'
    """
    if re.search("[{}]", _BRACES.sub("", text)):
        raise InputError(f"{text[:60]}: write {{name}} for a value of the setting, and {{{{ and }}}} for braces")
    return _BRACES.sub(lambda found: values[found[1]] if found[1] else found[0][0], text)


def combinations(overrides: Sequence[str], variants: VariantsFile | None) -> list[Combination]:
    """Return all configurations of a command line; its overrides win over those of the variants."""
    swept = [Combination(fixed, chosen) for fixed, chosen in expand(overrides)]
    if variants is None:
        return swept
    return [
        Combination([*one.overrides, *other.overrides], {**one.chosen, **other.chosen})
        for one in variants.combinations()
        for other in swept
    ]


def expand(overrides: Sequence[str]) -> list[tuple[list[str], dict[str, str]]]:
    """Return all combinations of the sweeps in `overrides`: for each, all its overrides, and the swept values by key.

    >>> [c for _, c in expand(["engine=a,b", "seed=1", "device=x"])]
    [{'engine': 'a'}, {'engine': 'b'}]
    """
    fixed: list[str] = []
    swept: dict[str, list[str]] = {}
    number = 1
    prepared = prepare(overrides)
    for text, override in zip(prepared, parsed(prepared), strict=True):
        if override.is_sweep_override():
            if not override.is_discrete_sweep():
                raise InputError(f"{text}: compare needs a list of values, such as a,b,c")
            values = swept[override.get_key_element()] = list(itertools.islice(override.sweep_string_iterator(), _MOST + 1))
            number *= len(values)
            if number > _MOST:
                raise InputError(f"{text}: more than {_MOST:,} combinations; give fewer values, or take points by 'lsmlab sweep'")
        else:
            fixed.append(text)
    products = itertools.product(*swept.values())
    return [
        ([*fixed, *(f"{k}={v}" for k, v in zip(swept, values, strict=True))], dict(zip(swept, values, strict=True)))
        for values in products
    ]


def without_quotes(chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the choices without the quotes of the command line."""
    return {key: value.strip("'\"") for key, value in chosen.items()}


def read_variants(name: str) -> VariantsFile:
    """Read the variants of a file, or of an entry of configs/comparison. Raises InputError that names file and key."""
    path = _path(name)
    content = read_yaml(path)
    if not isinstance(content, Mapping) or set(content) - set(_KEYS) or not isinstance(content.get("variants"), Mapping):
        raise InputError(f"{path}: must be a mapping with the keys {', '.join(_KEYS)}; variants is required")
    variants, parents = {}, {}
    for one, about in content["variants"].items():
        variants[str(one)] = _texts(about, path, f"variants.{one}")
        for key in sorted(map(str, set(about) - set(_OF_A_VARIANT))):
            raise InputError(f"{path}: variants.{one}.{key}: no such key; a variant has {', '.join(_OF_A_VARIANT)}")
        parents[str(one)] = _texts(about, path, f"variants.{one}", "parents")
        unknown = [p for p in parents[str(one)] if p not in content["variants"]]
        if unknown:
            raise InputError(f"{path}: variants.{one}: parent {unknown[0]} is no variant of this file")
    settings = {
        str(one): (
            _texts(about, path, f"settings.{one}"),
            _setting_values(about, path, f"settings.{one}"),
        )
        for one, about in (content.get("settings") or {}).items()
    }
    common = _texts({"overrides": content.get("overrides") or []}, path, "overrides")
    return VariantsFile(str(content.get("description", "")), common, variants, parents, settings)


def _setting_values(about: object, path: Path, where: str) -> dict[str, str]:
    values = {k: str(v) for k, v in about.items() if k != "overrides"} if isinstance(about, Mapping) else {}
    for key, value in values.items():
        if len(value) > _LONGEST_VALUE:
            raise InputError(f"{path}: {where}.{key}: longer than {_LONGEST_VALUE} characters; write a shorter value")
    return values


def _path(name: str) -> Path:
    path = Path(name)
    if path.is_file():
        return path
    folder = packaged_folder() / GROUP
    entry = folder / f"{name}.yaml"
    if not entry.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.yaml")))
        raise InputError(f"--variants {name}: no such file, and no such entry; known entries: {known}")
    return entry


def _texts(about: object, path: Path, where: str, key: str = "overrides") -> tuple[str, ...]:
    value = (about.get(key) or []) if isinstance(about, Mapping) else None
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(f"{path}: {where}: must be a mapping with {key}, a list such as [engine=universal]")
    if key == "overrides":
        refuse_hydra(value, f"{path}: {where}")
    return tuple(value)
