"""Loading of the classes that configurations name by `_target_`, from trusted packages only."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from lsmlab.models.errors import InputError


def load_class(target: Any, packages: Sequence[str], where: str, example: str) -> type[Any]:
    """Load the class with a dotted name.

    A configuration may come from a third party and must not run arbitrary code: it may only name classes of
    `packages`. `where` names the group in messages, `example` is a valid name for them. Raises InputError for any
    other target.
    """
    if not isinstance(target, str) or "." not in target:
        raise InputError(f"{where}._target_: {target!r} is not a class; write it like {example}")
    if not any(target.startswith(f"{package}.") for package in packages):
        raise InputError(f"{where}._target_: {target} is outside the allowed packages ({', '.join(packages)})")
    module, _, name = target.rpartition(".")
    try:
        cls = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{where}._target_: cannot load {target}: {error}") from None
    if not isinstance(cls, type) or (cls.__module__ != module and module.startswith("lsmlab.")):
        raise InputError(f"{where}._target_: {target} is not a class of that module; write it like {example}")
    return cls
