"""Damaged OPTIONS files give options or a one-line error."""

from __future__ import annotations

import random

from lsmlab.models.errors import InputError
from lsmlab.models.options.fields import RocksDbOptions
from lsmlab.models.options.options import ResolvedOptions, resolve_options
from lsmlab.models.options.options_file import read_options
from lsmlab.models.options.values import STRUCTS, option_types
from lsmlab.models.version import Version

FILES = 1000
NUMBERS = ["0", "-1", "1", "-2147483649", "4294967296", "18446744073709551614", "1e400", "0.5", "", "{", "7k", "٣", "²"]


def whole_file() -> str:
    """Return an OPTIONS file that sets every option to its default, with unknown keys in between."""
    options = RocksDbOptions()
    lines = ["[Version]", "  rocksdb_version=7.8.3", "[DBOptions]", "  db_host_id=__hostname__", "  bytes_per_sync=1k"]
    lines += ['[CFOptions "default"]', "  comparator=leveldb.BytewiseComparator"]
    for name in option_types():
        if "." not in name and name != "bytes_per_sync":
            value = getattr(options, name)
            lines.append(f"  {name}={str(getattr(value, 'value', value)).lower() if value != () else '1:1'}")
    for struct in STRUCTS:
        members = [n.partition(".")[2] for n in option_types() if n.startswith(struct)]
        struct_options = getattr(options, struct)
        values = {m: getattr(struct_options, m) for m in members if m != "stop_style"}
        lines.append(f"  {struct}={{" + "".join(f"{m}={value if value != () else '{}'};" for m, value in values.items()) + "}")
    lines += ['[TableOptions/BlockBasedTable "default"]', "  filter_policy=bloomfilter:10:false", ""]
    return "\n".join(line for line in lines if "compression_per_level" not in line)


def damage(text: str, rng: random.Random) -> str:
    """Make one to four random changes: a character, a cut, a line moved or doubled, a number."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text)) if text else 0
        lines = text.split("\n")
        line = rng.randrange(len(lines))
        match rng.randrange(6):
            case 0:
                text = text[:at] + rng.choice("\0\n\r#;=[\\{}é\u2028") + text[at + 1 :]
            case 1:
                text = text[:at] + text[at + rng.randint(1, 40) :]
            case 2:
                text = text[:at] + "".join(chr(rng.randint(1, 300)) for _ in range(rng.randint(1, 8))) + text[at:]
            case 3:
                lines.insert(rng.randrange(len(lines)), lines.pop(line))
                text = "\n".join(lines)
            case 4:
                lines[line] = lines[line].partition("=")[0] + "=" + rng.choice(NUMBERS)
                text = "\n".join(lines)
            case _:
                digits = [i for i, c in enumerate(text) if c.isdigit()]
                spot = rng.choice(digits) if digits else 0
                text = text[:spot] + rng.choice("0123456789-.kMe") + text[spot + 1 :]
    return text


def outcome(text: str) -> ResolvedOptions | str:
    """Return the options, or the message of the InputError."""
    try:
        read = read_options(text + "\n")
        return resolve_options(read.version or Version(7, 8), "library", read.overrides)
    except InputError as error:
        return str(error)


def test_damaged_files_give_options_or_one_line() -> None:
    """1000 damaged files give options or an InputError with a one-line message, and both results occur."""
    rng = random.Random(20_240_601)
    whole = whole_file()
    outcomes = [outcome(damage(whole, rng)) for _ in range(FILES)]
    messages = [o for o in outcomes if isinstance(o, str)]
    assert [m for m in messages if len(m.splitlines()) != 1 or not m.startswith(("options text", "engine."))] == []
    assert 100 < len(messages) < FILES - 100


def test_whole_file_resolves() -> None:
    """The undamaged file resolves, so the errors above come from the damage."""
    resolved = outcome(whole_file())
    assert isinstance(resolved, ResolvedOptions), resolved
    assert resolved.options.bytes_per_sync == 1024
