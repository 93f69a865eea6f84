"""Any picker, cutter, throttle, scheduler and tuner that go together run together; the others say why they do not.

All entries of configs/engine are found; every pair of policies of two groups meets in at least one short run.
"""

from __future__ import annotations

import copy
import os
from pathlib import Path

import numpy as np
import pytest
from lsmlab.models.engines.make import make_engine
from lsmlab.models.errors import InputError
from lsmlab.models.policies.parts import GROUPS
from lsmlab.sim.configuration.compose import composer
from lsmlab.sim.phase import SEEDS, Phase
from policy_matrix import engines, matrix, names, pairs
from shadow import shadowed

REFUSED = Path(__file__).parents[1] / "testdata" / "matrix" / "refused.txt"
"""Reviewed: what may not be combined, and what the user is told. Written anew with LSMLAB_REWRITE=1."""
SETTLES_WITHIN_S = 600.0
"""Simulated time in which a store must come to rest once nobody writes."""
LOOKUPS = 300
"""Keys looked up in the end."""


@pytest.mark.parametrize("picker", names("picker"))
def test_every_pair_runs(picker: str) -> None:
    """Runs of this picker in the covering design: invariants, conservation, the newest versions found, all at rest."""
    failed = {}
    for combination in (c for c in matrix().design if c[0] == picker):
        try:
            _run(matrix().config(combination))
        except Exception as error:  # any failure belongs to the combination
            failed[" ".join(combination)] = repr(error)

    assert {} == failed


def _run(config: dict[str, object]) -> None:
    phase = Phase(config, np.random.SeedSequence(5).spawn(SEEDS), ())
    phase.preload()
    store = phase.families[0]
    with shadowed(store) as shadow:
        phase.run()
        phase.clients.stop()
        store.flush_all(phase.clients.unflushed()[0])
        end_s = phase.env.now + SETTLES_WITHIN_S
        while not store.database.idle and phase.env.now < end_s:
            phase.env.step()
    jobs, dropped = store.recorder.jobs, store.recorder.entries_dropped_by_drop
    flushed = sum(j.entries_out for j in jobs if j.kind == "flush")
    removed = sum(j.entries_in - j.entries_out for j in jobs if j.kind == "compaction")
    assert store.database.idle, "it does not come to rest"
    assert not store.database.blocked, "writers stay blocked"
    assert not any(f.busy for f in store.files()), "a lock stays"
    assert flushed > 1000
    written = flushed + store.recorder.entries_preloaded
    assert written == pytest.approx(store.tree.live_entries() + dropped + removed, rel=1e-9)
    keys = np.random.default_rng(1).choice(sorted(shadow.latest), size=LOOKUPS, replace=False).tolist()
    found = {key: shadow.find(store, key) for key in keys}
    wrong = [key for key, version in found.items() if version != shadow.latest[key] and not (dropped and version is None)]
    assert [] == wrong, "old versions are found"


def test_the_design_holds_every_pair_that_goes_together() -> None:
    """Every pair of entries of two groups is run or refused."""
    run = {pair for combination in matrix().design for pair in pairs(combination)}
    every = {
        ((a, x), (b, y)) for i, a in enumerate(GROUPS) for b in GROUPS[i + 1 :] for x in names(a) for y in names(b)
    }

    assert every == run | matrix().refused.keys()
    assert len(matrix().design) < 300


def test_what_does_not_go_together_is_refused_with_the_reason() -> None:
    """The reviewed list of refused pairs and, for reasons of their own, engines; each message begins with its group."""
    told = {f"{a[0]}={a[1]} {b[0]}={b[1]}": reason for (a, b), reason in matrix().refused.items()}
    told |= {who: reason for who, reason in _refused_by_engines().items() if reason not in told.values()}
    pairs_by_reason: dict[str, list[str]] = {}
    for who, reason in told.items():
        pairs_by_reason.setdefault(reason, []).append(who)
    text = "\n".join("\n    ".join([reason, *who]) + "\n" for reason, who in pairs_by_reason.items())
    if os.environ.get("LSMLAB_REWRITE") == "1":
        REFUSED.write_text(text, encoding="utf-8")

    assert REFUSED.read_text(encoding="utf-8") == text
    assert [] == [reason for reason in told.values() if not reason.startswith(tuple(f"engine.{g}: " for g in GROUPS))]


def _refused_by_engines() -> dict[str, str]:
    """Engines with another scheduler or tuner that are not built: built in the way of `engine=… engine/scheduler=…`."""
    told = {}
    with composer(()) as compose:
        configured = {name: compose([f"engine={name}"]).config["engine"] for name in engines()}
    for name, engine in configured.items():
        for group in ("scheduler", "tuner"):
            for entry in names(group):
                changed = copy.deepcopy(engine)
                changed[group] = dict(matrix().settings[group, entry])
                try:
                    make_engine(changed)
                except InputError as error:
                    told[f"engine={name} {group}={entry}"] = str(error)
    return told
