"""Reader of YAML files. It checks encoding, size, syntax and values; its errors name file, line and remedy."""

from __future__ import annotations

from collections.abc import Iterable
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
_TAGS: Final = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "map", "seq", "merge", "timestamp")
)
"""Types of values that a configuration may contain."""


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file. Raises InputError if the file cannot be read or is not such a file."""
    return parse_yaml(read_yaml_text(path), path)


def read_yaml_text(path: Path) -> str:
    """Return the text of a file in UTF-8, with or without a byte order mark. Raises InputError if it cannot be read."""
    try:
        if path.exists() and not path.is_file():
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


def parse_yaml(text: str, path: Path) -> Any:
    """Return the content of a YAML text; `path` names its file in errors. Raises InputError if it is not YAML."""
    import yaml

    kind = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
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


def _check_depth(events: Iterable[Any], path: Path) -> None:
    import yaml

    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise _too_deep(f"{path}:{event.start_mark.line + 1}")


def _too_deep(place: str) -> InputError:
    return InputError(f"{place}: its values are nested too deeply; write at most {_DEEPEST} levels")


def _check(root: Any, path: Path) -> None:
    """Raise InputError for values of other types than a configuration has, and for aliases that expand without limit."""
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
            kind = node.tag.removeprefix("tag:yaml.org,2002:")
            raise InputError(
                f"{_place(node)}: {kind[:40]}: no such type in a configuration; write numbers, text, lists and maps"
            )
        parts: list[Any] = []
        if isinstance(node, yaml.SequenceNode):
            parts = node.value
        elif isinstance(node, yaml.MappingNode):
            parts = [part for pair in node.value for part in pair]
        sizes[id(node)] = total = 1 + sum(map(size, parts))
        if total > _MOST_VALUES:
            raise InputError(
                f"{_place(node)}: more than {_MOST_VALUES:,} values; write a smaller file, without aliases"
            )
        return total

    def _place(node: Any) -> str:
        return f"{path}:{node.start_mark.line + 1}"

    size(root)
