"""The only reader and writer of YAML. The reader checks encoding, size, syntax and values; errors name file, line and remedy.

Plain values have the types that OmegaConf gives them: `1e5` is a number (in YAML 1.1 a text), a date is a text. Keys are
texts, and a mapping has each of them once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError

_LARGEST_BYTES: Final = 16 << 20
"""Largest size of a file: an initial tree of 100,000 files is a list of 10 MB."""
_MOST_VALUES: Final = 1_000_000
"""Largest number of values of a file after its aliases are expanded: ten levels of nine aliases are 3.5 thousand million."""
_DEEPEST: Final = 50
"""Largest depth of nested values. libyaml recurses: 200,000 levels end the process with a segmentation fault."""
_SCANNER_DEPTH: Final = "exceeded maximum nesting depth"
"""Error of libyaml's scanner since PyYAML 6.0.4, which reads ahead of the parser's events."""
_TAG: Final = "tag:yaml.org,2002:"
_TAGS: Final = frozenset(f"{_TAG}{kind}" for kind in ("str", "int", "float", "bool", "null", "map", "seq", "merge"))
"""Types of values that a file may contain."""
_KEY_TAGS: Final = frozenset(f"{_TAG}{kind}" for kind in ("str", "merge"))
_LONGEST_KEY: Final = 1000
_EXPONENT: Final = re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)[eE][-+]?[0-9]+$")
"""Numbers with an exponent, of which YAML 1.1 reads only those with a point and a sign."""


def to_yaml(content: Any, *, width: int = 80, unicode: bool = False) -> str:
    """Return a value as YAML, keys in their order. libyaml writes the same text as PyYAML in a fifth of the time.

    Lines have at most `width` characters where possible; with `unicode`, characters outside ASCII are not escaped.
    """
    import yaml

    dumper = _typed("Dumper")
    return str(yaml.dump(content, Dumper=dumper, sort_keys=False, width=width, allow_unicode=unicode))


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file. Raises InputError if the file cannot be read or is not such a file."""
    return parse_yaml(read_yaml_text(path), path)


@cache
def _typed(kind: str) -> Any:
    """Return libyaml's (or PyYAML's) safe Loader or Dumper with the types of values that the module's docstring names."""
    import yaml

    typed: Any = type(kind, (getattr(yaml, f"CSafe{kind}", getattr(yaml, f"Safe{kind}")),), {})
    typed.add_implicit_resolver(f"{_TAG}float", _EXPONENT, list("-+.0123456789"))
    typed.yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in resolvers if tag != f"{_TAG}timestamp"]
        for first, resolvers in typed.yaml_implicit_resolvers.items()
    }
    return typed


def read_yaml_text(path: Path) -> str:
    """Return the text of a file in UTF-8, with or without a byte order mark. Raises InputError if it cannot be read."""
    try:
        if not path.exists():
            raise InputError(f"{path}: no such file; check the path")
        if not path.is_file():
            raise InputError(f"{path}: not a file; give a YAML file")
        if path.stat().st_size > _LARGEST_BYTES:
            raise InputError(f"{path}: larger than {_LARGEST_BYTES >> 20} MiB; a configuration file is smaller")
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: byte 0x{error.object[error.start]:02x} is not UTF-8; save the file in the encoding UTF-8"
        ) from None


def parse_yaml(text: str, path: Path | str) -> Any:
    """Return the content of a YAML text; `path` names its file in errors. Raises InputError if it is not YAML."""
    import yaml

    kind = _typed("Loader")
    loader = kind(text)
    try:
        _check_depth(yaml.parse(text, kind), path)
        node = loader.get_single_node()
        if node is None:
            return None
        _check(node, path)
        return loader.construct_document(node)
    except InputError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        if error.problem == _SCANNER_DEPTH:
            raise _too_deep(place) from None
        raise InputError(f"{place}: not YAML: {error.problem or error.context}; correct the file") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}; correct the file") from None
    finally:
        loader.dispose()


def _check_depth(events: Iterable[Any], path: Path | str) -> None:
    import yaml

    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise _too_deep(f"{path}:{event.start_mark.line + 1}")


def _too_deep(place: str) -> InputError:
    return InputError(f"{place}: its values are nested too deeply; write at most {_DEEPEST} levels")


def _check(root: Any, path: Path | str) -> None:
    """Raise InputError for values of other types, keys that occur twice, and aliases that expand without limit."""
    import yaml

    sizes: dict[int, int | None] = {}
    """Number of values of a node with its aliases expanded, by its id; None while its parts are counted."""

    def size(node: Any) -> int:
        known = sizes.get(id(node), 0)
        if known is None:
            raise InputError(f"{_place(node)}: a value contains itself; write it without an alias")
        if known:
            return known
        sizes[id(node)] = None
        if node.tag not in _TAGS:
            kind = node.tag.removeprefix(_TAG)
            raise InputError(
                f"{_place(node)}: {kind[:40]}: no such type in a configuration; write numbers, text, lists and maps"
            )
        parts: list[Any] = []
        if isinstance(node, yaml.SequenceNode):
            parts = node.value
        elif isinstance(node, yaml.MappingNode):
            parts = [part for pair in node.value for part in pair]
            _check_keys([key for key, _ in node.value])
        sizes[id(node)] = total = 1 + sum(map(size, parts))
        if total > _MOST_VALUES:
            raise InputError(
                f"{_place(node)}: more than {_MOST_VALUES:,} values; write a smaller file, without aliases"
            )
        return total

    def _check_keys(keys: list[Any]) -> None:
        known: set[object] = set()
        for key in keys:
            if not isinstance(key, yaml.ScalarNode) or key.tag not in _KEY_TAGS:
                raise InputError(f"{_place(key)}: {_shown(key)} is no name; write keys as text, in quotes if need be")
            if len(key.value) > _LONGEST_KEY:
                raise InputError(f"{_place(key)}: a key has more than {_LONGEST_KEY} characters; write a shorter one")
            if key.value in known:
                raise InputError(f"{_place(key)}: duplicate key {key.value!r}; write it once")
            known.add(key.value)

    def _place(node: Any) -> str:
        return f"{path}:{node.start_mark.line + 1}"

    def _shown(key: Any) -> str:
        return f"the key {key.value[:40]!r}" if isinstance(key, yaml.ScalarNode) else "a list or a map as a key"

    size(root)
