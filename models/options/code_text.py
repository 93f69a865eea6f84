"""Reader of program code that sets options: C++, Java, Rust and Go, such as the RocksDBConfigSetter of a Kafka Streams job.

It reads statements of one line that set an option to a number, a constant of the same text or a word, and makers of caches,
filters, rate limiters and write buffer managers. Names are those of the APIs: `setWriteBufferSize`, `set_write_buffer_size`,
`SetWriteBufferSize` and `write_buffer_size =` are one option.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from lsmlab.models.options.not_simulated import NOT_SIMULATED
from lsmlab.models.options.options_text import NumberedLines, OptionEntry
from lsmlab.models.options.presets import optimized
from lsmlab.models.options.sections import snake_case
from lsmlab.models.options.values import option_types

_SETTER: Final = re.compile(r"(?:\.|->|::|^)\s*(?:[sS]et_?(?=[A-Za-z])|(?=[iI]ncrease_?[pP]arallelism))(\w{1,80})\s*\(")
_ASSIGNED: Final = re.compile(r"(?<=[\w\])])(?:\.|->)((?:\w{1,80}\.)?[a-z]\w{0,79})\s+=\s+([^=].*?);?\s*$")
_CONSTANT: Final = re.compile(r"(?:^|[\s*&])([A-Za-z_]\w{0,79})\s*(?::\s*\w+\s*)?=\s*([^=].*?);?\s*$")
_MAKERS: Final[Mapping[str, re.Pattern[str]]] = {
    "block_cache_size": re.compile(r"(?:LRUCache|HyperClockCache|new_lru_cache|new_hyper_clock_cache)(?:Options)?>?\s*\("),
    "filter": re.compile(r"(?:BloomFilter(?:Policy)?|RibbonFilterPolicy|(?:bloom|ribbon)_filter)>?\s*\("),
    "rate_limiter_bytes_per_sec": re.compile(r"(?:NewGenericRateLimiter|[nN]ew ?RateLimiter|set_ratelimiter)>?\s*\("),
    "db_write_buffer_size": re.compile(r"(?:(?<![sS]et)WriteBufferManager|new_write_buffer_manager\w*)>?\s*\("),
}
"""Objects with a size as their first argument, by the option that has it."""
_OTHER_CACHE: Final = re.compile(r"row_?cache|blob_?cache|compressed", re.IGNORECASE)
_COMMENT: Final = re.compile(r"//.*|/\*.*?\*/|^\s*\*.*")
_NAMES: Final = {
    "compression_type": "compression", "bottommost_compression_type": "bottommost_compression",
    "compaction_priority": "compaction_pri", "increase_parallelism": "max_background_jobs", "parallelism": "max_background_jobs",
}  # fmt: skip
_PRESET: Final = re.compile(r"(?:\.|->)\s*((?:[oO]ptimize|[pP]repare_?[fF]or)\w{1,80})\s*\(")
"""Functions that set several options."""
_PARALLELISM: Final = "16"
"""Default of IncreaseParallelism's argument (include/rocksdb/options.h)."""
_OBJECTS: Final = frozenset({"block_cache", "write_buffer_manager"})
"""Options with an object that a maker on the same line describes."""
_STYLED: Final = re.compile(r"optimize_?(level|universal)_?style_?compaction", re.IGNORECASE)
_BUDGET_BYTES: Final = 512 << 20
"""Default of their argument, a budget for memtables (ColumnFamilyOptions::OptimizeLevelStyleCompaction)."""
_LITERAL: Final = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F_]+|\d[\d_]*(?:\.\d+)?)(?:[uUlLfFdD]{1,3}|_?[iu](?:\d\d?|size))?(?!\w)")
_CAST: Final = re.compile(r"\(\s*(?:u?int\d*(?:_t)?|size_t|long|double|float)\s*\)|\s+as\s+\w+|\b(?:u?int\d\d|float64)(?=\()")
_OPERATORS: Final[Mapping[type[ast.AST], Callable[[float, float], float]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.LShift: operator.lshift,
}  # fmt: skip
_MOST_BITS: Final = 64
_KAFKA_STREAMS: Final = "RocksDBConfigSetter"
"""Name in code that changes the options of Kafka Streams' stores."""
_WORD: Final = re.compile(r"(?:\w+(?:\.|::))*([A-Za-z]\w*)")


def read_code(lines: NumberedLines) -> Iterator[OptionEntry]:
    """Yield the options that code sets; in section Unread those whose value is no number and no word.

    What is no option of RocksDB is left out.
    """
    constants: dict[str, str] = {}
    for number, raw in lines:
        if _KAFKA_STREAMS in raw:
            yield _entry(number, "predefined_options", "KAFKA_STREAMS", raw)
        line = _COMMENT.sub("", raw).strip()
        made = {name: found for name, maker in _MAKERS.items() if (found := maker.search(line))}
        for name, maker in made.items():
            if not (name == "block_cache_size" and _OTHER_CACHE.search(line)):
                yield from _made(number, name, _first_argument(line, maker.end()), constants)
        if found := _PRESET.search(line):
            yield from _preset(number, found[1], _first_argument(line, found.end()), constants)
            continue
        if found := _SETTER.search(line):
            text = _first_argument(line, found.end())
            name = _option_name(found[1])
        elif found := _ASSIGNED.search(line):
            name, text = _option_name(found[1].rpartition(".")[2]), found[2]
        else:
            if found := _CONSTANT.search(line):
                constants[found[1]] = found[2]
            continue
        if name == "max_background_jobs" and not text:
            text = _PARALLELISM
        if name in option_types() and not made:
            yield _entry(number, name, _value(name, text, constants), text)
        elif name in NOT_SIMULATED and not (made and name in _OBJECTS):
            yield _entry(number, name, _value(name, text, constants) or text, text)


def _entry(line: int, name: str, value: str | None, code: str) -> OptionEntry:
    """Return the entry of a setting; `value`: None if `code` has another form than a number or a word."""
    return OptionEntry(line, "Unread", "", name, code) if value is None else OptionEntry(line, "CF", "default", name, value)


def _made(line: int, name: str, text: str, constants: Mapping[str, str]) -> Iterator[OptionEntry]:
    size = _number(text, constants)
    if name == "filter":
        yield _entry(line, "filter_policy", f"bloomfilter:{'10' if size is None else size}", text)
    elif text:
        yield _entry(line, name, size, text)


def _preset(line: int, name: str, text: str, constants: Mapping[str, str]) -> Iterator[OptionEntry]:
    """Yield the options that a function sets; itself without a value if it is another than these two."""
    style, budget = _STYLED.fullmatch(name), _number(text, constants) if text else str(_BUDGET_BYTES)
    if style is None or budget is None:
        yield _entry(line, name, None, f"{name}({text})")
        return
    options = optimized(style[1].lower(), int(budget))
    yield from (_entry(line, option, value, f"{name}({text})") for option, value in options.items())


def _option_name(text: str) -> str:
    """Return an option's name in RocksDB's spelling.

    >>> [_option_name(text) for text in ("LevelZeroStopWritesTrigger", "max_open_files", "CompressionType", "SizeRatio")]
    ['level0_stop_writes_trigger', 'max_open_files', 'compression', 'compaction_options_universal.size_ratio']
    """
    name = snake_case(text).replace("level_zero_", "level0_")
    name = _NAMES.get(name, name)
    return name if name in option_types() else _members().get(name, name)


@cache
def _members() -> Mapping[str, str]:
    """Return the flat names of the members of structs, which APIs set on objects of their own."""
    return {name.partition(".")[2]: name for name in option_types() if "." in name}


def _first_argument(line: str, start: int) -> str:
    """Return the text up to the comma or parenthesis that ends the argument which begins at `start`."""
    depth = 0
    for at in range(start, len(line)):
        if depth == 0 and line[at] in ",)":
            return line[start:at].strip()
        depth += (line[at] in "([{") - (line[at] in ")]}")
    return line[start:].strip()


def _value(name: str, text: str, constants: Mapping[str, str]) -> str | None:
    """Return a value as an OPTIONS file has it; None if it is no number and no word.

    >>> _value("write_buffer_size", "16 * 1024L", {}), _value("write_buffer_size", "SIZE", {"SIZE": "1 << 20"})
    ('16384', '1048576')
    >>> _value("compression", "CompressionType.LZ4_COMPRESSION", {}), _value("compression", "rocksdb::kZSTD", {})
    ('LZ4', 'kZSTD')
    """
    if (number := _number(text, constants)) is not None:
        return number
    word = _WORD.fullmatch(text.strip("\"' "))
    if word is None or word[1] in constants:
        return None
    if "compression" in name:
        short = re.sub(r"(?<=.)_?(?:compression)$", "", word[1], flags=re.IGNORECASE)
        return "no" if short.lower() == "none" else word[1] if short == word[1] or word[1].startswith("k") else short
    if name == "compaction_pri" and not word[1].startswith("k"):
        return f"k{word[1]}"
    kind = option_types().get(name)
    return word[1] if word[1] in ("true", "false") or kind not in (int, float) else None


def _number(text: str, constants: Mapping[str, str], depth: int = 3) -> str | None:
    """Return the value of an expression of numbers and constants; None if it is something else."""
    plain = _LITERAL.sub(lambda found: found[1].replace("_", ""), _CAST.sub("", text))
    try:
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):  # code of another language
            found = _evaluate(ast.parse(plain.strip(), mode="eval").body, constants, depth)
        return f"{found:.0f}" if float(found).is_integer() else repr(found)
    except (SyntaxError, TypeError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None


def _evaluate(node: ast.expr, constants: Mapping[str, str], depth: int) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand, constants, depth)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = (_evaluate(side, constants, depth) for side in (node.left, node.right))
        if isinstance(node.op, ast.LShift) and not 0 <= right < _MOST_BITS:
            raise ValueError(node.op)
        return _OPERATORS[type(node.op)](left, right)
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    if name in constants and depth and (known := _number(constants[name], constants, depth - 1)) is not None:
        return float(known) if "." in known else int(known)
    raise ValueError(name)
