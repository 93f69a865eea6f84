"""Trees with which alike databases start: of a prefill, of a table of files, or of preloaded keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from lsmlab.sim.initial_tree import place_files
from lsmlab.sim.phase import Phase
from lsmlab.sim.prefill import prefill
from lsmlab.sim.progress import Progress
from lsmlab.sim.setting import Setting


def start_trees(
    phases: Sequence[Phase], setting: Setting, seed: np.random.SeedSequence, progress: Progress | None, *, alone: bool = True
) -> dict[str, Any] | None:  # fmt: skip
    """Give each of `phases` of the same setting its trees; return the entry `prefill` of the summary, None without one.

    `alone`: whether their databases are the only ones on the machine. Raises InputError that names the key.
    """
    if setting.prefill is not None:
        return prefill(phases, setting.prefill, seed, progress, alone=alone)
    own = seed.spawn(len(phases)) if len(phases) > 1 else [seed]
    for phase, place in zip(phases, own, strict=True):
        if setting.initial_tree is not None:
            place_files(phase, setting.initial_tree, place)
        else:
            phase.preload()
    return None
