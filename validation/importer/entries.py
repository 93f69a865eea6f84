"""Files of an imported configuration: one entry per group, the experiments that combine them, and the trace of the load.

Store, load, machine and limits are separate entries, so that a what-if replaces one of them and keeps the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.devices.make import DeviceCaps
from lsmlab.sim.configuration.compose import NOT_GIVEN
from lsmlab.sim.yaml_text import to_yaml
from lsmlab.validation.importer.configuration import FULL_SPEED, NAME, Inferred
from lsmlab.validation.importer.load import full_speed, schedule, trace_text
from lsmlab.validation.importer.trace_load import TraceLoad
from lsmlab.validation.importer.workload import InferredWorkload

_LIMITS: Final = tuple(f.name for f in fields(DeviceCaps))
_STORE: Final = ("version", "options_file", "not_simulated", "compression_ratio")
"""Keys of the engine that tell the release, the source of its options, and how well the data compress."""
REPLAY: Final = "imported_replay"
"""Name of the experiment that repeats the operations of a trace."""
_MOST_EXACT: Final = 5_000_000
"""Keys of a store from which on a replay of a trace carries a sample of them."""
_WAYS: Final = {NAME: "as the store accepted it", FULL_SPEED: "clients at full speed", REPLAY: "each operation of the trace"}
"""Load of each experiment."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """Content of one YAML file."""

    path: str
    """Path inside the configuration folder, without ".yaml"."""
    defaults: Sequence[str]
    content: Mapping[str, Any]
    comments: Sequence[str]
    own_values_last: bool = True
    """Whether the content replaces values of the entries in `defaults`."""

    def __str__(self) -> str:
        """Return the text of the file."""
        lines = [*(f"# {_one_line(text)}" for text in self.comments), "# Written by: lsmlab import", "defaults:"]
        lines += [f"  - {text}" for text in [*self.defaults, *(["_self_"] if self.own_values_last else [])]]
        body = to_yaml(_literal(self.content), width=120, unicode=True) if self.content else ""
        return "\n".join([*lines, "", body])


def configuration_files(
    inferred: Inferred, workload: InferredWorkload, source: str, trace: Path | None = None
) -> dict[str, str]:
    """Return the texts of the entries, the experiments and parameters/imported.yaml, by path in the configuration folder.

    `source`: name of the LOG. `trace`: file of the trace, which the texts then include; None: the load contains the trace.
    """
    loads = {NAME: schedule(workload, trace), FULL_SPEED: full_speed(workload)}
    if trace is not None and workload.trace is not None:
        loads[REPLAY] = replayed(workload.trace)
    found = [*_machine(inferred, source), *_store(inferred, source), *_loads(inferred, loads, source)]
    found += [_experiment(inferred, name, source) for name in loads]
    texts = {f"{entry.path}.yaml": str(entry) for entry in found}
    texts[f"parameters/{NAME}.yaml"] = str(inferred.parameters)
    if trace is not None and (rows := trace_text(workload)):
        texts[trace.name] = rows
    return texts


def replayed(load: TraceLoad) -> tuple[str, dict[str, Any]]:
    """Return the entry of configs/workload that repeats each operation of a trace, and the entry's own keys."""
    length_s = load.operations.length_s
    duration = {"duration": round(length_s, 3)} if length_s else {}
    return "trace", {"file": str(load.path.resolve()), "loop": False, **duration}


def trace_files(load: TraceLoad, trace: Path) -> dict[str, str]:
    """Return the texts of the workload entries of a trace without a LOG, and of its schedule, by path in the folder."""
    starts, per_s = load.rows
    keys, length_s, source = load.workload_keys(), load.operations.length_s, load.path.name
    texts = {}
    loads: dict[str, tuple[str, dict[str, Any]]] = {
        NAME: ("constant", {"rate": NOT_GIVEN, "duration": NOT_GIVEN}),
        FULL_SPEED: ("full_speed", {"operations": len(load.operations)}),
        REPLAY: replayed(load),
    }
    if length_s and len(starts) > 1:
        loads[NAME] = ("trace", {"file": str(trace), "loop": False, "duration": round(length_s, 3)})
        rows = zip(starts.tolist(), (per_s * np.diff(np.append(starts, length_s))).tolist(), strict=True)
        texts[trace.name] = "seconds,operations\n" + "".join(f"{start:.6f},{number:.3f}\n" for start, number in rows)
    notes = [f"unknown: {note}" for note in load.notes()]
    for name, (entry, own) in loads.items():
        comments = [f"load of {source}, {_WAYS[name]}", *notes]
        texts[f"workload/{name}.yaml"] = str(_Entry(f"workload/{name}", [entry], {**own, **keys}, comments))
    return texts


def _machine(inferred: Inferred, source: str) -> Iterator[_Entry]:
    """Yield the entries of device, host and limits."""
    base = inferred.device_base
    about = f"drive of {source}, with the properties of device={base} that a LOG does not show"
    yield _Entry(f"device/{NAME}", [base], {"name": NAME, "description": about}, [about])
    about = f"host of {source}; host.cores is that of host=default unless parameters/{NAME} has it"
    yield _Entry(f"host/{NAME}", ["default"], {"description": about, "parameters": NAME}, [about])
    caps = {key: inferred.device[key] for key in _LIMITS if key in inferred.device}
    about = f"limits of {source}: {', '.join(caps) or 'none found'}"
    yield _Entry(f"limits/{NAME}", ["none"], {"description": about, **caps}, [about])


def _store(inferred: Inferred, source: str) -> Iterator[_Entry]:
    """Yield the entries of the options and of the engine with its release."""
    options = inferred.engine["options"]
    yield _Entry(f"engine/options/{NAME}", ["rocksdb"], options, [f"options of {source}, by RocksDB's names"])
    store = {key: inferred.engine[key] for key in _STORE if key in inferred.engine}
    about = f"RocksDB with the release and options of {source}"
    content = {"description": about, "name": "rocksdb", **store}
    yield _Entry(f"engine/{NAME}", ["rocksdb", f"override options: {NAME}"], content, [about])


def _loads(inferred: Inferred, loads: Mapping[str, tuple[str, Mapping[str, Any]]], source: str) -> Iterator[_Entry]:
    for name, (entry, own) in loads.items():
        yield _Entry(f"workload/{name}", [entry], {**own, **inferred.load}, [f"load of {source}, {_WAYS[name]}"])


def _experiment(inferred: Inferred, name: str, source: str) -> _Entry:
    """Return the experiment that combines the entries.

    Its own keys hold for every engine and drive: release, compression ratio, column families and page cache. So
    engine=silk applies SILK's policies to this store, and device=sata replaces the drive but not the memory.
    """
    chosen = {"engine": NAME, "engine/options": NAME, "device": NAME, "host": NAME, "limits": NAME, "workload": name}
    content: dict[str, Any] = {"description": f"imported from {source}, {_WAYS[name]}"}
    store = {key: inferred.engine[key] for key in (*_STORE, "families") if key in inferred.engine}
    memory = {key: value for key, value in inferred.device.items() if key not in _LIMITS}
    content |= {group: keys for group, keys in (("engine", store), ("device", memory)) if keys}
    if name == REPLAY and inferred.load.get("num", _MOST_EXACT) < _MOST_EXACT:
        content["keys"] = {"mode": "exact"}
    comments = ("@package _global_", f"Store, machine, limits and load of {source}, {_WAYS[name]}.", *inferred.notes)
    overrides = [f"override /{group}: {entry}" for group, entry in chosen.items()]
    return _Entry(f"experiment/{name}", overrides, content, comments, own_values_last=False)


def _one_line(text: str) -> str:
    """Return a text of a foreign file without characters that could end a comment, such as U+2028."""
    return "".join(c if c.isprintable() else " " for c in text)


def _literal(node: Any) -> Any:
    """Return values without interpolations: a foreign file may contain the text of one, such as ${oc.env:HOME}."""
    if isinstance(node, Mapping):
        return {key: _literal(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_literal(value) for value in node]
    return node.replace("${", "\\${") if isinstance(node, str) else node
