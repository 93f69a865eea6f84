"""Compatible pickers, cutters, throttles, schedulers and tuners run together; others are refused with a reason.

The tests use all entries of configs/engine; each compatible pair of policies is in at least one short run.
"""

from __future__ import annotations

import copy
import os
from pathlib import Path

import numpy as np
import pytest
from draining import drain
from lsmlab.models.engines.make import make_engine
from lsmlab.models.errors import InputError
from lsmlab.models.policies.parts import GROUPS
from lsmlab.sim.configuration.compose import compose
from lsmlab.sim.phase import SEEDS, Phase
from lsmlab.sim.setting import Setting
from policy_matrix import engines, matrix, names, pairs
from shadow import shadowed

REFUSED = Path(__file__).parents[1] / "testdata" / "matrix" / "refused.txt"
"""Reviewed list of refused pairs with the message for the user; LSMLAB_REWRITE=1 writes it."""
LOOKUPS = 300
"""Keys looked up at the end."""


@pytest.mark.parametrize("picker", names("picker"))
def test_every_pair_runs(picker: str) -> None:
    """The runs of this picker keep the invariants and all entries, find the newest versions, and all jobs end."""
    failed = {}
    for combination in (c for c in matrix().design if c[0] == picker):
        try:
            _run(matrix().config(combination))
        except Exception as error:  # any failure belongs to the combination
            failed[" ".join(combination)] = repr(error)

    assert {} == failed


def _run(config: dict[str, object]) -> None:
    phase = Phase(Setting.of(config), np.random.SeedSequence(5).spawn(SEEDS))
    phase.preload()
    store = phase.families[0]
    with shadowed(store) as shadow:
        phase.run()
        drain(phase)
    dropped = store.recorder.entries_dropped_by_drop
    keys = np.random.default_rng(1).choice(sorted(shadow.latest), size=LOOKUPS, replace=False).tolist()
    found = {key: shadow.find(store, key) for key in keys}
    wrong = [key for key, version in found.items() if version != shadow.latest[key] and not (dropped and version is None)]
    assert [] == wrong, "old versions are found"


def test_the_design_contains_every_compatible_pair() -> None:
    """Every pair of entries of two groups is run or refused."""
    run = {pair for combination in matrix().design for pair in pairs(combination)}
    every = {
        ((a, x), (b, y)) for i, a in enumerate(GROUPS) for b in GROUPS[i + 1 :] for x in names(a) for y in names(b)
    }

    assert every == run | matrix().refused.keys()
    assert len(matrix().design) < 300


def test_incompatible_pairs_are_refused_with_a_reason() -> None:
    """The reviewed list contains all refused pairs and engines; each message begins with its policy group."""
    messages = {f"{a[0]}={a[1]} {b[0]}={b[1]}": reason for (a, b), reason in matrix().refused.items()}
    messages |= {pair: reason for pair, reason in _refused_by_engines().items() if reason not in messages.values()}
    pairs_by_reason: dict[str, list[str]] = {}
    for pair, reason in messages.items():
        pairs_by_reason.setdefault(reason, []).append(pair)
    text = "\n".join("\n    ".join([reason, *pair]) + "\n" for reason, pair in pairs_by_reason.items())
    if os.environ.get("LSMLAB_REWRITE") == "1":
        REFUSED.write_text(text, encoding="utf-8")

    assert REFUSED.read_text(encoding="utf-8") == text
    assert [] == [reason for reason in messages.values() if not reason.startswith(tuple(f"engine.{g}: " for g in GROUPS))]


def _refused_by_engines() -> dict[str, str]:
    """Return the message for each engine that cannot be combined with a scheduler or tuner."""
    messages = {}
    configured = {name: compose([f"engine={name}"])["engine"] for name in engines()}
    for name, engine in configured.items():
        for group in ("scheduler", "tuner"):
            for entry in names(group):
                changed = copy.deepcopy(engine)
                changed[group] = dict(matrix().settings[group, entry])
                try:
                    make_engine(changed)
                except InputError as error:
                    messages[f"engine={name} {group}={entry}"] = str(error)
    return messages
