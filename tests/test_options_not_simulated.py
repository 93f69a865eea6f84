"""Options that are not simulated: one table in code and documentation, complete for RocksDB 10, and what is said of them.

Source: (options-not-simulated.md).
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import lsmlab
import pytest
from lsmlab.models.errors import InputError
from lsmlab.models.options.ignored import ignored_options
from lsmlab.models.options.not_simulated import NOT_SIMULATED, Effect
from lsmlab.models.options.options_file import read_options
from lsmlab.models.options.values import option_types
from lsmlab.models.version import Version
from lsmlab.reports.answers.confidence import confidence
from lsmlab.reports.run_data import load_run
from lsmlab.sim.configuration.options_input import options_overrides, options_shown, options_text
from lsmlab.sim.explain.summary_text import summary_text

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "options-not-simulated.md"
NAMES = Path(__file__).parent / "testdata" / "options_of_rocksdb_10_4.txt"
IN_OTHER_FORM = {"filter_policy", "no_block_cache"}
"""Options that set options of the model with other names: bloom_bits and cache_size."""
RELEASES = (None, Version(5, 7), Version(7, 8), Version(10, 4))
QUICK = ("workload.num=20k", "workload.duration=2s", "keys.mode=exact")


def listed() -> list[list[str]]:
    """Return the cells of all rows of the page's tables, without code marks."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def shown(default: str) -> str:
    """Return a default as the page writes it."""
    first, *later = default.split(" | ")
    changes = [f"{value} since {release}" for release, _, value in (text.partition(": ") for text in later)]
    return ", ".join([first, *changes]).replace("/", " or ")


def options_file(folder: Path, database: str = "", family: str = "", other: str = "") -> Path:
    """Write an OPTIONS file of 7.8 with these lines of options."""
    path = folder / "OPTIONS"
    path.write_text(
        f'[Version]\nrocksdb_version=7.8.3\n[DBOptions]\n{database}\n[CFOptions "default"]\n{family}\n'
        f'[CFOptions "other"]\nwrite_buffer_size=8388608\n{other}\n'
    )
    return path


def test_the_page_has_the_lines_of_the_code() -> None:
    """Name, default, effect and reason of every option are the same in both, in the same order."""
    code = [[name, shown(one.default), str(one.effect), one.reason] for name, one in NOT_SIMULATED.items()]
    assert listed() == code


def test_every_option_of_rocksdb_10_is_simulated_or_listed() -> None:
    """No name in the OPTIONS file of a store of RocksDB 10 is unknown."""
    names = [line for line in NAMES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert len(names) > 200
    assert [name for name in names if name not in option_types() | NOT_SIMULATED and name not in IN_OTHER_FORM] == []


def test_only_options_without_effect_have_no_default() -> None:
    """An option that may matter has a default with which it does not."""
    assert [name for name, one in NOT_SIMULATED.items() if bool(one.default) == (one.effect is Effect.NONE)] == []


@pytest.mark.parametrize("version", RELEASES, ids=str)
def test_defaults_are_silent(version: Version | None) -> None:
    """Each spelling of each default of the release says nothing; another value says what it does."""
    matter = {name: one for name, one in NOT_SIMULATED.items() if one.default}
    for name, one in matter.items():
        for text in one.defaults(version):
            assert ignored_options(version, {name: text}) == [], (name, text)
    others = ignored_options(version, dict.fromkeys(matter, "something"))
    assert {option.name: option.reason for option in others} == {name: one.reason for name, one in matter.items()}
    effects = [option.effect for option in others]
    assert [effect for effect, _ in itertools.groupby(effects)] == [Effect.LARGE, Effect.SMALL]


@pytest.mark.parametrize(
    ("name", "text", "silent"),
    [
        ("merge_operator", "nullptr", True), ("merge_operator", "None", True), ("merge_operator", "(nil)", True),
        ("merge_operator", "", True), ("merge_operator", "{id=StringAppendOperator;delimiter=;}", False),
        ("row_cache", "0x7f14d3ffb220", False), ("row_cache", "0000000000000000", True),
        ("inplace_update_support", "0", True), ("inplace_update_support", "FALSE", True), ("inplace_update_support", "1", False),
        ("memtable_prefix_bloom_size_ratio", "0.000000", True), ("memtable_prefix_bloom_size_ratio", "0.1", False),
        ("memtable_factory", "{id=SkipListFactory;lookahead=0;}", True), ("memtable_factory", "HashSkipListRepFactory", False),
        ("table_factory", "BlockBasedTable (0x55ed1dd39a20)", True), ("table_factory", "PlainTable", False),
        ("compression_opts", "-14:32767:0:0", True), ("compression_opts", "{level=3;window_bits=-14;}", False),
        ("compression_opts", "{level=32767;window_bits=15;}", True), ("wal_dir", "/data/wal", True),
    ],
)  # fmt: skip
def test_a_value_is_compared_as_the_file_writes_it(name: str, text: str, silent: bool) -> None:
    """OPTIONS files, LOGs and option strings spell the same value differently."""
    assert (ignored_options(Version(7, 8), {name: text}) == []) is silent


def test_a_default_is_that_of_the_release() -> None:
    """CRC32c is the default before 7.8 only; of an unknown release, both are."""
    found = [ignored_options(version, {"checksum": "kCRC32c"}) for version in (Version(7, 7), Version(7, 8), None)]
    assert [len(options) for options in found] == [0, 1, 0]


def test_options_of_all_column_families_are_named(tmp_path: Path) -> None:
    """What another column family ignores counts, once; an option that nobody knows has an unknown effect."""
    path = options_file(tmp_path, "use_fsync=true\nmanual_wal_flush=true", "merge_operator=A", "merge_operator=A\nof_a_fork=7")
    content = options_shown(path)
    effects = {one["name"]: one["effect"] for one in content["not_simulated"]}
    assert effects == {"manual_wal_flush": "large", "merge_operator": "large", "of_a_fork": "unknown", "use_fsync": "small"}
    assert "large: merge_operator=A: merge operands" in options_text(content)
    overrides, notes = options_overrides(path, [])
    assert any(text.startswith("engine.not_simulated=") and "merge_operator=A" in text for text in overrides)
    assert any("merge_operator (large effect)" in note for note in notes)


def test_a_run_says_what_it_leaves_out(tmp_path: Path) -> None:
    """Summary, terminal and page name the options; the intervals do not cover those of large or unknown effect."""
    given = ["inplace_update_support=true", "use_fsync=1", "of_a_fork=7", "manual_wal_flush=true"]
    result = lsmlab.run(lsmlab.configure([*QUICK, f"engine.not_simulated={given}"]))
    found = result.summary["not_simulated"]
    names = ["inplace_update_support", "manual_wal_flush", "of_a_fork", "use_fsync"]
    assert [one["name"] for one in found] == names
    assert json.loads(json.dumps(found)) == found
    terminal = " ".join(summary_text(result.summary).split())
    assert "warning: inplace_update_support=true is not simulated, which has a large effect" in terminal
    assert "note: use_fsync=1 is not simulated, which has a small effect" in terminal
    result.save(tmp_path / "run")
    headline, sentences = confidence(load_run(tmp_path / "run"))
    assert headline == "A simulation with doubts"
    text = " ".join(sentences)
    assert all(f"{name}=" in text for name in names)
    assert "They do not cover inplace_update_support, manual_wal_flush, of_a_fork, which the model does not simulate." in text


def test_a_plain_store_leaves_nothing_out() -> None:
    """Without such options the list is empty, and nothing is said."""
    result = lsmlab.run(lsmlab.configure(QUICK))
    assert result.summary["not_simulated"] == []
    assert "not simulate" not in summary_text(result.summary)


@pytest.mark.parametrize("value", ["3", "[3]", "[merge_operator]", "text"])
def test_bad_lists_are_refused(value: str) -> None:
    """Anything else than a list of name=value is one error."""
    with pytest.raises(InputError, match=r"engine\.not_simulated: "):
        lsmlab.run(lsmlab.configure([*QUICK, f"engine.not_simulated={value}"]))


def test_an_option_that_rocksdb_has_cannot_be_set_in_silence() -> None:
    """An override of an option that is not simulated is refused with the reason."""
    said = r"inplace_update_support: no such key; RocksDB has this option, .*large effect.*memtable"
    with pytest.raises(InputError, match=said):
        lsmlab.configure(["engine.options.inplace_update_support=true"])


def test_a_log_header_goes_the_same_way() -> None:
    """The options in the header of a LOG are compared in the same way."""
    log = (
        "2020/11/27-21:19:20.453423 4ccc RocksDB version: 6.11.4\n"
        "2020/11/27-21:19:20.454126 4ccc                     Options.allow_mmap_reads: 1\n"
        "2020/11/27-21:19:20.456120 4ccc [cf.cc:482] --------------- Options for column family [default]:\n"
        "2020/11/27-21:19:20.456221 4ccc        Options.merge_operator: PutOperator\n"
        "2020/11/27-21:19:20.456221 4ccc        Options.compaction_filter: None\n"
    )
    found = [option.assignment for option in read_options(log).not_simulated]
    assert found == ["merge_operator=PutOperator", "allow_mmap_reads=1"]


def test_an_option_string_goes_the_same_way() -> None:
    """The options of an option string are compared in the same way."""
    read = read_options("write_buffer_size=64M;merge_operator=PutOperator;allow_mmap_reads=true;memtable=skip_list:16;\n")
    assert [option.assignment for option in read.not_simulated] == ["merge_operator=PutOperator", "allow_mmap_reads=true"]


def test_an_option_is_read_by_the_model_or_listed() -> None:
    """An option that a configuration takes acts somewhere in the model; the others have a line instead."""
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("models", "sim")
        for path in Path(__file__).parents[1].joinpath(folder).rglob("*.py")
        if path.name != "defaults.py"
    )
    unread = [name for name in option_types() if not re.search(rf"\.{name.rpartition('.')[2]}\b", code)]
    assert unread == []
