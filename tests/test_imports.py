"""Architecture: which package may import which, and which libraries must not be loaded at start."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Collection
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from lsmlab.reports.cli.main import VERBS
from lsmlab.reports.study_kind import StudyKind
from running import SMALL, configuration

ROOT = Path(__file__).parents[1]
LAYERS = ["models", "sim", "validation", "reports", "api", "programs", "cli"]
"""Folders from the bottom up: each may import itself and earlier ones. configs contains data only."""
API = ROOT / "reports" / "api"
"""Folder that installs as lsmlab itself; it lies above the pages."""
PROGRAMS = (ROOT / "reports" / "lab", ROOT / "reports" / "course", API / "course.py")
"""Folders and files that use lsmlab as any program would."""
CLI = (ROOT / "reports" / "cli", API / "__main__.py")
"""Command line, on top of the API and of the pages."""
ROOMS = {
    "models": [
        "errors", "text", "traces", "units", "version", "since", "targets", "costs", "tree", "options", "workloads", "policies",
        "devices", "engines",
    ],
    "models/policies": [
        "rate_limiter", "decisions", "scheduling", "tuning", "parts",
        "rocksdb", "leveldb", "pebblesdb", "vlsm", "silk", "adoc", "ldc", "triad", "lazy_leveling",
    ],
    "sim": [
        "yaml_text", "garbage", "progress", "observers", "machine", "store", "process_memory", "prefill_options", "databases",
        "setting", "setup", "clients", "results", "explain", "preload", "store_actions",
        "phase_steps", "phase", "prefill", "initial_tree", "start_trees", "many_databases", "simulation",
        "configuration", "runs", "studies",
    ],
    "sim/studies": [
        "document", "request", "statistics", "intervals", "metrics", "summary_intervals", "differences", "baseline",
        "study", "lengths", "goals", "present", "candidate_rows", "candidate_table", "candidates", "written_options",
        "whatif", "compare", "advise", "sweep", "optuna_search", "tune", "plan", "growth",
    ],
    "validation": [
        "checkout", "markdown", "grouped_runs", "logs", "casefiles", "replays", "calibrate", "importer", "recorder",
        "measure",
        "recordings", "scorecard", "ablation", "papers",
    ],
    "validation/logs": [
        "hash_set", "clock", "bench", "bench_output", "stats", "record_list", "records", "lines", "files",
        "event_times", "reader",
        "statistics_tables", "manifest", "histogram_clock", "leveldb", "silk_driver", "history", "timings",
    ],
}  # fmt: skip
"""Packages and files of a folder from the bottom up: each may import itself and earlier ones.

The contracts of policies come before the lineages; the __init__ of sim re-exports names of several packages.
"""
FOLDERS = [*LAYERS, "configs"]
READERS = {
    "models/options/options_file.py": "reads OPTIONS files and LOGs",
    "models/text/compression.py": "decompresses any text",
    "models/text/files.py": "reads any text",
    "models/text/wrappers.py": "reads messages in JSON objects",
    "models/text/csv_rows.py": "reads CSV files",
    "models/workloads/trace.py": "names traces",
    "models/traces/query_trace.py": "reads RocksDB's traces",
    "models/traces/readable_trace.py": "reads text of trace_analyzer",
    "models/traces/cache_trace.py": "reads CSV files of cache traces",
    "models/traces/reader.py": "tells these apart",
}
"""The only files of models that may read files: each reads one input format."""
IO_MODULES = {
    "csv", "gzip", "io", "json", "lzma", "os", "pathlib", "shutil", "socket", "subprocess", "tempfile", "urllib",
}  # fmt: skip


MAIN = "from lsmlab.reports.cli.main import main\nmain"
"""Beginning of a statement that calls the command line."""


def modules(folder: str) -> list[Path]:
    """Return the Python files of a folder or layer."""
    root = ROOT / {"api": "reports/api", "programs": "reports", "cli": "reports"}.get(folder, folder)
    found = (p for p in root.rglob("*.py") if "__pycache__" not in p.parts)
    return sorted(p for p in found if folder not in LAYERS or layer(p) == folder)


def layer(path: Path) -> str:
    """Return the layer of a file."""
    for name, places in (("programs", PROGRAMS), ("cli", CLI)):
        if any(place in (path, *path.parents) for place in places):
            return name
    return "api" if API in path.parents else path.relative_to(ROOT).parts[0]


def module_name(path: Path) -> str:
    """Return the name under which a file is imported; the files of reports/api belong to lsmlab itself."""
    parts = path.relative_to(API if API in path.parents else ROOT).with_suffix("").parts
    return ".".join(("lsmlab", *(part for part in parts if part != "__init__")))


def imported(path: Path) -> set[str]:
    """Return every module and every name imported by a file, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def loaded_by(statement: str) -> set[str]:
    """Return the names of all modules that a statement loads in a new interpreter."""
    program = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("folder", LAYERS)
def test_imports_point_one_way(folder: str) -> None:
    """Folders import only folders below them: cli -> api -> reports -> validation -> sim -> models."""
    above = {module_name(path) for other in LAYERS[LAYERS.index(folder) + 1 :] for path in modules(other)}
    offences = [
        f"{path.relative_to(ROOT)}: {name}" for path in modules(folder) for name in imported(path) if name in above
    ]

    assert [] == offences


@pytest.mark.parametrize(("folder", "room"), [(folder, room) for folder, rooms in ROOMS.items() for room in rooms])
def test_imports_inside_folders_point_one_way(folder: str, room: str) -> None:
    """No package or file imports one that comes after it in ROOMS."""
    above = [f"lsmlab.{folder.replace('/', '.')}.{other}" for other in ROOMS[folder][ROOMS[folder].index(room) + 1 :]]
    offences = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules(f"{folder}/{room}") or [ROOT / folder / f"{room}.py"]
        for name in imported(path)
        if any(name == other or name.startswith(f"{other}.") for other in above)
    ]

    assert [] == offences


@pytest.mark.parametrize("folder", ROOMS)
def test_every_package_has_a_place_in_the_order(folder: str) -> None:
    """Every package and file of an ordered folder is listed in ROOMS."""
    found = {path.relative_to(ROOT / folder).parts[0].removesuffix(".py") for path in modules(folder)}

    assert {*ROOMS[folder], "__init__"} == found


def test_no_import_cycles() -> None:
    """No file imports itself through other files, not even for the type checker."""
    paths = {
        module_name(path): path for folder in FOLDERS for path in modules(folder) if path.name != "__init__.py"
    }
    graph = {name: imported(path) & paths.keys() for name, path in paths.items()}

    assert list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the cycle


@pytest.mark.parametrize(
    ("folders", "banned", "allowed"),
    [
        ([folder for folder in FOLDERS if folder != "sim"], {"simpy"}, ()),
        (["models"], IO_MODULES, READERS),
        (["models"], {"random", "secrets"}, ()),
    ],
    ids=["only sim imports SimPy", "models do no input or output", "models get random generators as arguments"],
)
def test_imported_libraries(folders: list[str], banned: set[str], allowed: Collection[str]) -> None:
    """No file imports what its layer must not use."""
    offences = {
        path.relative_to(ROOT).as_posix(): sorted(found)
        for folder in folders
        for path in modules(folder)
        if (found := {name.partition(".")[0] for name in imported(path)} & banned)
    }

    assert {} == {name: found for name, found in offences.items() if name not in allowed}


def test_every_package_is_listed() -> None:
    """pyproject.toml lists every folder with an __init__.py; an unlisted one would be missing from the wheel.

    reports/api is the package lsmlab itself.
    """
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    present = [
        module_name(path) for folder in FOLDERS for path in modules(folder) if path.name == "__init__.py"
    ]

    assert sorted(present) == sorted(declared)


@pytest.mark.parametrize(
    ("statement", "unused"),
    [
        ("import lsmlab.sim.simulation", {"plotly", "pyarrow", "pandas", "scipy.stats", "hydra", "omegaconf"}),
        (f"{MAIN}(['--help'])", {"numpy", "simpy", "hydra", "omegaconf", "yaml", "argparse"}),
        (
            f"{MAIN}(['run', 'workload.num=20k', 'workload.duration=1s', '--json', '--out', 'run'])",
            {"plotly", "pandas", "scipy", "multiprocessing", "joblib", "numpy.ma"},
        ),
    ],
    ids=["simulator", "help", "run"],
)
def test_no_unused_library_is_loaded(
    statement: str, unused: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing the simulator, asking for help and a run load no library that they do not use."""
    monkeypatch.chdir(tmp_path)

    assert set() == loaded_by(statement) & unused


ENGINE = set(ROOMS["sim"][: ROOMS["sim"].index("simulation") + 1])
"""Packages and files of sim that one run needs."""


def test_a_simulation_loads_the_engine_only_and_opens_no_file(tmp_path: Path) -> None:
    """`simulate` loads no study, page, configuration or process library; with its modules loaded it opens no file."""
    (tmp_path / "config.json").write_text(json.dumps(configuration(*SMALL, "workload.duration=1s")))
    statement = f"""
import json, sys
from lsmlab import Setting, simulate
setting = Setting.of(json.load(open({str(tmp_path / "config.json")!r})))
simulate(setting)
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
simulate(setting)
assert not opened, opened
"""
    loaded = loaded_by(statement)

    assert {name.split(".")[2] for name in loaded if name.startswith("lsmlab.sim.")} <= ENGINE
    assert set() == loaded & {"hydra", "omegaconf", "yaml", "pyarrow", "plotly", "pandas", "scipy", "multiprocessing", "tqdm"}


def test_the_top_package_loads_nothing() -> None:
    """`import lsmlab` loads no module of LSMLab; each of its names can be imported."""
    import lsmlab

    assert {"lsmlab"} == {name for name in loaded_by("import lsmlab") if name.partition(".")[0] == "lsmlab"}
    assert all(callable(getattr(lsmlab, name)) for name in lsmlab.__all__)


def test_loading_the_simulation_leaves_the_garbage_collector_as_it_was() -> None:
    """Loading the simulation exempts its modules from garbage collections, and keeps collections on or off."""
    statement = "import gc\nfrom lsmlab.sim.runs.loading import load_simulation"
    states = "print(gc.isenabled(), gc.get_freeze_count() > 10_000)"

    assert {"True"} == loaded_by(f"{statement}\nload_simulation()\n{states}") & {"True", "False"}
    assert {"True", "False"} == loaded_by(f"{statement}\ngc.disable()\nload_simulation()\n{states}") & {"True", "False"}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_exists(verb: str) -> None:
    """Each verb of the table is a kind of question, or a function of the command line."""
    module, _, name = VERBS[verb][0].partition(":")
    found = getattr(importlib.import_module(f"lsmlab.reports.{module}"), name)
    assert callable(found) or isinstance(found, StudyKind)


NAMING = ("models", "sim", "validation", "reports/api", "reports/cli", "reports/decisions")
PACKAGES = [p.parent for folder in NAMING for p in sorted((ROOT / folder).rglob("__init__.py"))]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.relative_to(ROOT)))
def test_package_docstrings_name_their_modules(package: Path) -> None:
    """The docstring of each package of the folders `NAMING` names each of its modules and packages."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    named = set(re.findall(r"\w+", text))
    held = [path.stem for path in package.glob("*.py") if path.stem != "__init__"]
    held += [path.parent.name for path in package.glob("*/__init__.py")]

    assert [] == [name for name in sorted(held) if name not in named]
