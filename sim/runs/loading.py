"""Loading of the simulation at the start of a run or of a worker process."""

from __future__ import annotations

import gc
import importlib
import os
from functools import cache

from lsmlab.sim.garbage import no_collections


@cache
def load_simulation() -> None:
    """Import `lsmlab.sim.simulation`, once per process, faster than an import statement does.

    Classes and functions of modules stay to the end of the process: the garbage collector does not look at them, neither
    during the import (20 ms) nor later (15 ms per full collection). NumPy's OpenBLAS starts no threads (20 ms), because
    a simulation multiplies no matrices.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with no_collections():
        importlib.import_module("lsmlab.sim.simulation")
    gc.freeze()
