"""Classes that configurations name by `_target_`: only from packages that are trusted."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from lsmlab.models.errors import InputError


def load_class(target: Any, packages: Sequence[str], where: str, example: str) -> type[Any]:
    """The class that a dotted name stands for.

    A configuration may come from somebody else and must not run code: `packages` are those whose classes it may name.
    `where` names the group in messages, `example` is a name that would do. Raises InputError for anything but a class
    in one of the packages.
    """
    if not isinstance(target, str) or "." not in target:
        raise InputError(f"{where}._target_: {target!r} is not a class; write it like {example}")
    if not any(target.startswith(f"{package}.") for package in packages):
        raise InputError(f"{where}._target_: {target} is outside the allowed packages ({', '.join(packages)})")
    module, _, name = target.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{where}._target_: cannot load {target}: {error}") from None
    if not isinstance(found, type):
        raise InputError(f"{where}._target_: {target} is not a class; write it like {example}")
    return found
