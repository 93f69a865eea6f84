"""Configurations that others wrote: no file of a folder, of variants or of YAML runs code, writes files or exhausts memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from log_sample import Sample
from lsmlab.models.errors import InputError
from lsmlab.reports.cli.main import main
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.yaml_text import read_yaml, to_yaml
from omegaconf import OmegaConf

QUICK = ["workload.num=20k", "workload.duration=1s", "--no-report"]
TROPHY = "trophy"
"""File in the working directory that exists only if an attack succeeded."""
LAUNCHED = ["run", "-m", "hydra/launcher=basic"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(files: dict[str, str]) -> None:
    """Write the files of a foreign folder `theirs`; the names are relative to it."""
    for name, text in files.items():
        path = Path("theirs") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def refused(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int = 2) -> str:
    """Run a command that must end with `code`, nothing on stdout and no trophy; return its message, which is one line."""
    before = {path.name for path in Path().iterdir()}
    found = main(arguments)
    out, err = capsys.readouterr()

    assert (code, "") == (found, out), err
    assert not list(Path().rglob(f"{TROPHY}*"))
    assert before >= {path.name for path in Path().iterdir()} - {"out", "outputs", "multirun"}
    assert 1 == len(err.strip().splitlines()), err
    return err


GLOBAL = "# @package _global_\n"
CALLBACKS = {
    "savetxt": {"_target_": "numpy.savetxt", "fname": TROPHY, "X": [1]},
    "rundocs": {"_target_": "numpy.testing.rundocs", "filename": f"{TROPHY}.py"},
    "save": {"_target_": "omegaconf.OmegaConf.save", "config": {"a": 1}, "f": TROPHY},
    "system": {"_target_": "os.system", "_args_": [f"touch {TROPHY}"]},
    "run": {"_target_": "subprocess.run", "_args_": [["touch", TROPHY]]},
    "own": {"_target_": "lsmlab.sim.results.jsontext.write_json", "_args_": [TROPHY, 1]},
}  # fmt: skip
SETTINGS: dict[str, dict[str, Any]] = {
    **{f"callback {name}": {"callbacks": {"x": about}} for name, about in CALLBACKS.items()},
    "file handler": {"job_logging": {"handlers": {"x": {"class": "logging.FileHandler", "filename": TROPHY}},
                                     "root": {"handlers": ["x"]}}},
    "handler factory": {"hydra_logging": {"handlers": {"x": {"()": "os.system", "command": f"touch {TROPHY}"}}}},
    "run folder": {"run": {"dir": f"{TROPHY}-folder"}},
    "sweep folder": {"sweep": {"dir": f"{TROPHY}-folder", "subdir": "x"}},
    "environment": {"job": {"env_set": {"LSMLAB_TRUST": "1", "HYDRA_INSTANTIATE_ALLOWLIST_OVERRIDE": "os.system"}}},
    "search path": {"searchpath": ["file:///tmp"]},
    "sweeper": {"sweeper": {"_target_": "os.system"}},
    "launcher": {"launcher": {"_target_": "os.system"}},
}  # fmt: skip


def yaml_of(value: object) -> str:
    """Return a value as a YAML text."""
    import yaml

    return yaml.safe_dump(value)


VERBS = (["run"], LAUNCHED, ["run", "-m"], ["compare"], ["run", "--cfg", "hydra"])
SETTINGS_OF_EVERY_VERB = ("callback savetxt", "sweep folder", "launcher")
"""Settings that the fast tests use with each command; they use the others with `lsmlab run` alone."""


@pytest.mark.parametrize(
    ("settings", "verb"),
    [
        pytest.param(s, v, marks=[] if v == ["run"] or s in SETTINGS_OF_EVERY_VERB else pytest.mark.slow,
                     id=f"{s}-{' '.join(v)}")
        for s in SETTINGS for v in VERBS
    ],
)  # fmt: skip
def test_a_foreign_experiment_sets_nothing_of_hydra(
    capsys: pytest.CaptureFixture[str], settings: str, verb: list[str]
) -> None:
    """No node `hydra:` of a foreign experiment takes effect, whatever command uses it; the message names the remedy."""
    written({"experiment/evil.yaml": f"{GLOBAL}{yaml_of({'hydra': SETTINGS[settings]})}"})
    err = refused(capsys, [*verb, "experiment=evil", "--config-dir", "theirs", *QUICK])

    assert "experiment/evil.yaml: hydra: may not set Hydra's own settings" in err
    assert "--trust" in err


SMUGGLED = {
    "package of the header": {"experiment/evil.yaml": "# @package hydra.run\ndir: trophy\n"},
    "global package of the header": {"experiment/evil.yaml": "# @package _global_.hydra.run\ndir: trophy\n"},
    "package in a defaults list": {
        "experiment/evil.yaml": f"{GLOBAL}defaults: ['/payload/x@hydra.run']\n", "payload/x.yaml": "dir: trophy\n"},
    "renamed package": {
        "experiment/evil.yaml": f"{GLOBAL}defaults: ['/payload@_global_.hydra.run: x']\n", "payload/x.yaml": "dir: trophy\n"},
    "global package in a defaults list": {
        "experiment/evil.yaml": f"{GLOBAL}defaults: [{{/payload@_global_: x}}]\n",
        "payload/x.yaml": "hydra: {run: {dir: trophy}}\n"},
    "a group of Hydra": {
        "experiment/evil.yaml": f"{GLOBAL}defaults: [{{override /hydra/launcher: evil}}]\n",
        "hydra/launcher/evil.yaml": "_target_: os.system\n"},
    "an entry of Hydra's": {"experiment/evil.yaml": f"{GLOBAL}defaults: [{{override /hydra/job_logging: disabled}}]\n"},
    "a file outside the folder": {
        "experiment/evil.yaml": f"{GLOBAL}defaults: ['/../outside/x']\n", "../outside/x.yaml": f"{GLOBAL}hydra: {{}}\n"},
    "a chosen entry outside the folder": {
        "experiment/evil.yaml": f"{GLOBAL}defaults: [{{override /device: ../../hydra/output/default}}]\n"},
    "a group by interpolation": {"experiment/evil.yaml": f"{GLOBAL}defaults: ['${{device}}/x']\n"},
    "a merge key": {"experiment/evil.yaml": f"{GLOBAL}<<: {{hydra: {{run: {{dir: trophy}}}}}}\n"},
    "a byte order mark": {"experiment/evil.yaml": f"\ufeff{GLOBAL}hydra: {{run: {{dir: trophy}}}}\n"},
    "a line separator": {"experiment/evil.yaml": f"{GLOBAL}# note\u2028hydra: {{run: {{dir: trophy}}}}\n"},
}  # fmt: skip


@pytest.mark.parametrize("way", SMUGGLED)
@pytest.mark.parametrize("verb", [["run"], LAUNCHED], ids=" ".join)
def test_no_other_way_leads_to_hydra(capsys: pytest.CaptureFixture[str], verb: list[str], way: str) -> None:
    """Packages, defaults lists, Hydra's groups and files outside the folder are refused too."""
    written(SMUGGLED[way])
    Path("outside").mkdir(exist_ok=True)
    err = refused(capsys, [*verb, "experiment=evil", "--config-dir", "theirs", *QUICK])

    assert "theirs" in err


@pytest.mark.parametrize("launcher", ["basic", "joblib"])
def test_an_entry_of_a_sweep_is_refused(capsys: pytest.CaptureFixture[str], launcher: str) -> None:
    """An experiment that only some runs of a sweep choose is refused, in the processes of a launcher too."""
    evil = yaml_of({"hydra": SETTINGS["file handler"]})
    written({"experiment/good.yaml": f"{GLOBAL}seed: 2\n", "experiment/evil.yaml": f"{GLOBAL}{evil}"})
    line = ["run", "-m", f"hydra/launcher={launcher}", "experiment=good,evil", "--config-dir", "theirs"]
    code = main([*line, *QUICK, "--json", "--out", "out"])
    err = capsys.readouterr().err

    assert code in (1, 2)
    assert "may not set Hydra's own settings" in err
    assert not list(Path().rglob(f"{TROPHY}*"))


def test_an_entry_may_not_replace_one_of_a_plugin(capsys: pytest.CaptureFixture[str]) -> None:
    """A foreign file in the place of a plugin's entry, which Hydra would read first, is refused."""
    written({"hydra/launcher/joblib.yaml": "_target_: os.system\n"})
    err = refused(capsys, ["run", "-m", "hydra/launcher=joblib", "--config-dir", "theirs", *QUICK])

    assert "hydra/launcher/joblib.yaml: a folder of configuration groups may not contain Hydra's groups" in err


def test_a_typed_search_path_is_guarded(capsys: pytest.CaptureFixture[str]) -> None:
    """Folders of hydra.searchpath are as foreign as those of --config-dir."""
    written({"experiment/evil.yaml": f"{GLOBAL}hydra: {{run: {{dir: trophy}}}}\n"})
    err = refused(capsys, ["run", "experiment=evil", "hydra.searchpath=[file://theirs]", *QUICK])

    assert "may not set Hydra's own settings" in err


def test_trust_lets_a_folder_set_everything() -> None:
    """With --trust, an experiment may set Hydra's settings; the next command does not trust any more."""
    written({"experiment/mine.yaml": f"{GLOBAL}hydra: {{run: {{dir: {TROPHY}}}}}\n"})
    line = ["run", "experiment=mine", "--config-dir", "theirs", *QUICK, "--json"]

    assert 0 == main([*line, "--trust"])
    assert Path(TROPHY, "summary.json").is_file()
    assert 2 == main(line)


def test_groups_of_a_foreign_folder_still_work() -> None:
    """Own groups, experiments that override groups, entries that include others, and parameter sets compose as before."""
    written({
        "experiment/good.yaml": f"{GLOBAL}defaults:\n  - override /device: slow\n  - override /engine/scheduler: silk\nseed: 3\n",
        "device/slow.yaml": "defaults: [nvme, _self_]\nwrite_cap: 20MB/s\n",
    })  # fmt: skip
    config = compose(["experiment=good"], ["theirs"])

    assert (3, "20MB/s") == (config["seed"], config["device"]["write_cap"])
    assert "silk" in config["engine"]["scheduler"]["_target_"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["-cp", "theirs", "-cn", "config"], ["--config-path=theirs"], ["--config-name", "evil"],
        ["--experimental-rerun", "theirs/run.pickle"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_flags_that_load_a_whole_configuration_need_trust(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """A primary configuration of somebody else, or a pickled one, is read only with --trust."""
    assert "can run code" in refused(capsys, ["run", *arguments])


@pytest.mark.parametrize(
    "override",
    [
        "+hydra.callbacks.x._target_=os.system", "+hydra.callbacks.x={_target_:numpy.savetxt}",
        "hydra.callbacks.index._target_=lsmlab.reports.cli.main.main",
        "+hydra.job_logging.formatters={x:{class:os.system}}", "hydra.launcher._target_=os.system",
    ],
)  # fmt: skip
def test_hydra_calls_only_known_names(capsys: pytest.CaptureFixture[str], override: str) -> None:
    """Also a typed override makes Hydra call only its own classes and those of its plugins."""
    err = refused(capsys, [*LAUNCHED, override, *QUICK])

    assert "may not be called by Hydra" in err


@pytest.mark.parametrize(
    "override",
    [
        "device._target_=os.system", "device._target_=subprocess.Popen", "device._target_=lsmlab.sim.runs.store.RunStore",
        "device._target_=lsmlab.models.devices.make.DeviceSetup", "device._target_=lsmlab.models.devices.nvme.dataclass",
        "device._target_=lsmlab.models.devices.nvme.os.system", "workload._target_=lsmlab.reports.cli.main.main",
        "engine._target_=lsmlab.models.policies.vlsm.picker.Vlsm",
        "engine.picker._target_=lsmlab.models.engines.make.make_engine",
        "+host._target_=lsmlab.models.devices.nvme.Nvme", "+save._target_=lsmlab.models.devices.nvme.Nvme",
        "device._target_=lsmlab", "device._target_=''", "device._target_=7",
        "workload._target_=lsmlab.models.workloads.base.Path",
    ],
)  # fmt: skip
def test_targets_come_from_the_package_of_their_group(capsys: pytest.CaptureFixture[str], override: str) -> None:
    """A `_target_` names a class of its group's package; any other function or class is refused before it is called."""
    assert "_target_" in refused(capsys, ["run", override, *QUICK])


@pytest.mark.parametrize(
    "text",
    [
        "variants: {a: {overrides: [hydra.run.dir=trophy]}}",
        "variants: {a: {overrides: ['+device@hydra.run=nvme']}}",
        "overrides: ['hydra.searchpath=[file:///tmp]']\nvariants: {a: {}}",
        "settings: {s: {overrides: ['hydra/launcher=joblib']}}\nvariants: {a: {}}",
    ],
)  # fmt: skip
def test_a_file_of_variants_sets_nothing_of_hydra(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Overrides in a file of variants may not set Hydra's settings."""
    Path("v.yaml").write_text(text)
    err = refused(capsys, ["compare", "--variants", "v.yaml", *QUICK])

    assert "may not set Hydra's own settings" in err


BROKEN = {
    "latin1": (b"description: caf\xe9\nseed: 1\n", "e.yaml:2: byte 0xe9 is not UTF-8"),
    "utf16": ("seed: 1\n".encode("utf-16"), "is not UTF-8"),
    "nul": (b"seed: 1\0\n", "not YAML"),
    "open list": (b"seed: [1\n", "e.yaml:3: not YAML"),
    "tab": (b"seed:\n\t- 1\n", "not YAML"),
    "binary": (b"description: !!binary aGVsbG8=\n", "e.yaml:2: binary: no such type"),
    "python": (b"seed: !!python/object/apply:os.system ['touch trophy']\n", "no such type"),
    "set": (b"seed: !!set {a, b}\n", "no such type"),
    "local tag": (b"seed: !mine 3\n", "no such type"),
    "400 digits": (b"host: {write_op: " + b"9" * 400 + b"}\n", "host.write_op"),
    "5000 digits": (b"seed: " + b"9" * 5000 + b"\n", "digits"),
    "deep": (b"seed: " + b"[" * 3000 + b"]" * 3000 + b"\n", "nested too deeply"),
    "very deep": (b"seed:\n" + b"- " * 200_000 + b"1\n", "nested too deeply"),
    "list": (b"- 1\n- 2\n", "must be a mapping"),
    "text": (b"hello\n", "must be a mapping"),
    "duplicate": (b"seed: 1\nseed: 2\n", "duplicate key"),
    "itself": (b"save: &a {x: *a}\n", "contains itself"),
    "laughs": (
        b"".join(b"x%d: &x%d [%s]\n" % (n, n, b", ".join([b"*x%d" % (n - 1)] * 9 if n else [b"1"])) for n in range(12)),
        "more than 1,000,000 values"),
    "number as a key": (b"device: {5: 1}\n", "e.yaml:2: the key '5' is no name"),
    "switch as a key": (b"device: {on: 1}\n", "e.yaml:2: the key 'on' is no name"),
    "map as a key": (b"device: {{a: b}: 1}\n", "e.yaml:2: a list or a map as a key is no name"),
    "unknown alias": (b"seed: *a\n", "not YAML"),
    "header": (b"# @package a b c\nseed: 1\n", "header cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_yaml_file_is_one_line(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    """Encoding, syntax, types, depth and size of a YAML file are checked: one line names file, line and reason."""
    content, expected = BROKEN[kind]
    written({"experiment/e.yaml": ""})
    Path("theirs/experiment/e.yaml").write_bytes(b"# @package _global_\n" + content)
    launched = ["-m", "hydra/launcher=basic"]
    for verb, code in (([], 2), (launched, 1 if kind == "400 digits" else 2)):  # 1: a run of the sweep failed
        err = refused(capsys, ["run", *verb, "experiment=e", "--config-dir", "theirs", *QUICK], code)
        assert expected in err
        assert "e.yaml" in err or "host.write_op" in err


@pytest.mark.parametrize("kind", sorted(BROKEN.keys() - {"400 digits", "list", "text", "duplicate", "header"}))
def test_other_yaml_files_are_checked_alike(kind: str) -> None:
    """Parameter sets, variants and cases are read by the same function."""
    Path("e.yaml").write_bytes(b"# first line\n" + BROKEN[kind][0])

    with pytest.raises(InputError, match=r"e\.yaml"):
        read_yaml(Path("e.yaml"))


def repeated(form: str, between: str, around: str) -> str:
    """Return twelve lines of which each has the value of the line before it ten times."""
    rest = (between.join([form.format(n - 1)] * 10) for n in range(1, 12))
    return "x0: lol\n" + "".join(f"x{n}: {around[0]}{text}{around[1]}\n" for n, text in enumerate(rest, 1))


BOMBS = {
    "texts beside": repeated("${{.x{}}}", "", "''"),
    "texts": repeated("${{conditions.x{}}}", "", "''"),
    "lists": repeated("'${{conditions.x{}}}'", ", ", "[]"),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_interpolations_do_not_expand_without_limit(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    """A file of 500 bytes whose interpolations make 10^12 characters is refused before they are made."""
    written({"conditions/evil.yaml": BOMBS[kind]})
    err = refused(capsys, ["run", "conditions=evil", "--config-dir", "theirs", *QUICK])

    assert "its interpolations expand to over 1,000,000 characters" in err


@pytest.mark.parametrize("verb", [["run", "device=evil", *QUICK], ["show", "device", "evil"], ["run", "machine=evil", *QUICK]])
def test_links_out_of_the_folder_are_refused(capsys: pytest.CaptureFixture[str], verb: list[str]) -> None:
    """A folder of others cannot name a file of the user: neither an entry, nor a parameter set, by a link."""
    Path("secret.yaml").write_text("password: 1\n", encoding="utf-8")
    for group in ("device", "parameters"):
        Path("theirs", group).mkdir(parents=True)
        Path("theirs", group, "evil.yaml").symlink_to(Path("secret.yaml").absolute())
    err = refused(capsys, [*verb, "--config-dir", "theirs"])

    assert "evil.yaml: leads out of the folder" in err
    assert "password" not in err


def test_links_inside_the_folder_are_followed() -> None:
    """A link from one entry to another of the same folder is one way to have two names."""
    written({"conditions/a.yaml": "description: mine\n"})
    Path("theirs/conditions/b.yaml").symlink_to("a.yaml")

    assert "mine" == compose(["conditions=b"], [Path("theirs")])["conditions"]["description"]


def test_entries_that_include_each_other_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A circle of defaults ends in one line."""
    written({"device/a.yaml": "defaults: [b]\n", "device/b.yaml": "defaults: [a]\n"})

    assert "includes itself" in refused(capsys, ["show", "device", "a", "--config-dir", "theirs"])


@pytest.mark.parametrize(
    "text", ["{T:>3000000000}", "{T!r}", "{T.__class__}", "{T[0]}", "{0}{", "{b{c}}", "}", "{T:{T}}"]
)
def test_overrides_are_no_format_strings(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Braces in overrides of variants hold a name, or stand for themselves: no width, conversion, attribute or index."""
    variants = {"A": {"overrides": [f"engine.description={text}"]}, "B": {"overrides": []}}
    Path("v.yaml").write_text(yaml_of({"variants": variants, "settings": {"s": {"overrides": [], "T": 5}}}), encoding="utf-8")

    assert "variant A: " in refused(capsys, ["compare", "--variants", "v.yaml", *QUICK])


def test_the_number_of_combinations_is_limited(capsys: pytest.CaptureFixture[str]) -> None:
    """A list of values that makes more configurations than any machine runs is refused before it is built."""
    lists = [f"workload.{key}={','.join(map(str, range(1, 100)))}" for key in ("num", "seed", "threads")]

    assert "more than 100,000 combinations" in refused(capsys, ["compare", *lists])
    assert "more than 100,000 combinations" in refused(capsys, ["compare", "seed=range(1,10000000000)"])


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("[{level:1,size_bytes:1MiB,files:18446744073709551616}]", "files: 18446744073709551616 is out of range"),
        ("[{level:1,size_bytes:9,files:900000},{level:2,size_bytes:9,files:900000}]", "a tree may have 1,000,000: give"),
        ("[{level:1,size_bytes:1MiB,smallest:1e30}]", "initial_tree[0].smallest: 1e+30 is out of range"),
        ("[{level:1,size_bytes:1e300}]", "initial_tree[0].size_bytes: 1e+300 is out of range"),
    ],
)  # fmt: skip
def test_trees_have_limits(capsys: pytest.CaptureFixture[str], tree: str, message: str) -> None:
    """The files of a tree, their sizes and their keys have limits, which the message states."""
    assert message in refused(capsys, ["run", f"initial_tree={tree}", "workload=overwrite", *QUICK])


def test_cells_and_terminals_get_no_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that begins as a formula is text for a spreadsheet; control characters reach no terminal."""
    name = '=HYPERLINK("http://x")\x1b[2J\u202e'
    sheet = {"lesson": 1, "student": name, "answers": {"in_place": 1}}
    Path("sheet.yaml").write_text(to_yaml(sheet), encoding="utf-8")

    assert 0 == main(["course", "grade", "sheet.yaml", "--csv"])
    table = capsys.readouterr().out
    assert 0 == main(["course", "grade", "sheet.yaml"])
    text = capsys.readouterr().out
    assert all(line.startswith("\"'=HYPERLINK") for line in table.splitlines()[1:])
    assert "=HYPERLINK" in text
    assert not {"\x1b", "\u202e"} & set(table + text)


def test_a_byte_order_mark_is_no_error() -> None:
    """Windows editors write a byte order mark; the header after it still counts."""
    written({"experiment/e.yaml": f"\ufeff{GLOBAL}seed: 3\n"})

    assert 3 == compose(["experiment=e"], ["theirs"])["seed"]


def test_hydra_has_a_block_list() -> None:
    """The pinned releases of hydra-core refuse dangerous targets by themselves, as a second line of defence."""
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    with pytest.raises(InstantiationException):
        instantiate({"_target_": "os.system", "_args_": ["true"]})


NAMES = [
    "LOG\nhydra: {run: {dir: trophy}}", "LOG\u2028hydra: {run: {dir: trophy}}", "LOG ${oc.env:HOME}",
    "LOG: &a [*b]", "@package x",
]  # fmt: skip
FAMILIES = ["fam\u2028hydra: {run: {dir: trophy}}", "${oc.env:HOME}", "</script><script>alert(1)</script>"]


@pytest.mark.parametrize(
    ("name", "family"),
    [
        pytest.param(name, family, marks=[] if i % len(FAMILIES) == j else pytest.mark.slow)
        for i, name in enumerate(NAMES) for j, family in enumerate(FAMILIES)
    ],
)  # fmt: skip
def test_names_in_a_log_are_only_names(capsys: pytest.CaptureFixture[str], name: str, family: str) -> None:
    """The name of a LOG, and those of column families in it, become neither YAML, nor interpolations, nor script."""
    text = Sample().run(20).text.replace("[default]", f"[{family}]").replace('"cf_name": "default"', f'"cf_name": "{family}"')
    Path(name).write_text(text, encoding="utf-8")

    assert 0 == main(["import", name, "--out", "imported"])
    page = Path("imported/report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    line = ["run", "--config-dir", "imported", "experiment=imported", "workload.duration=1s", "--json", "--no-report"]
    capsys.readouterr()
    assert 0 == main([*line, "--out", "out"])
    assert not list(Path().glob(f"{TROPHY}*"))
    for path in Path("imported").rglob("experiment/*.yaml"):
        assert os.environ["HOME"] not in str(OmegaConf.to_container(OmegaConf.load(path), resolve=True))


def test_libyaml_writes_what_pyyaml_writes(tmp_path: Path) -> None:
    """Both writers give the same text for any value (but not for any key), and it reads back as the same values."""
    texts = ["", "yes", "1.5", "null", "a: b # c", "- a", " b ", "two\nlines\n", "tab\t.", "'q'", '"q"']
    texts += ["x " * 80, "y" * 200, "é ☃ 💾", "\u2028"]
    shared = {"first": 1, "second": [True, None, 1e-9, 1e20, -0.0]}
    content = {"texts": texts, "shared": [shared, shared], "empty": [{}, []]}

    assert to_yaml(content) == yaml.safe_dump(content, sort_keys=False)
    file = tmp_path / "config.yaml"
    file.write_text(to_yaml(content), encoding="utf-8")
    assert read_yaml(file) == content
