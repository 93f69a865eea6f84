"""One run: a pure function of its configuration and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import simpy
from lsmlab.models.errors import InputError
from lsmlab.models.tree.files import KeyArray
from lsmlab.models.tree.keys import KeySample
from lsmlab.models.tree.merge import Tombstones
from lsmlab.models.workloads.base import Workload, WriteStream, fill_together
from lsmlab.sim.clients import ClientLoad
from lsmlab.sim.preload import settled_tree
from lsmlab.sim.progress import Progress
from lsmlab.sim.recorder import StoreRecorder
from lsmlab.sim.results import Result, collect
from lsmlab.sim.setup import Setup, set_up
from lsmlab.sim.store import Store

if TYPE_CHECKING:
    from lsmlab.sim.reads import TreeReads

_PROGRESS_STEPS: Final = 100
_LONGEST_RUN_S: Final = 1e8
"""About three years: a run that would last longer is taken for a mistake."""


class Fills:
    """Contents of memtables, store by store: one random stream and one set of cursors for each."""

    def __init__(self, workload: Workload, sample: KeySample, seeds: list[np.random.SeedSequence]) -> None:
        writers = [c for c in workload.clients if c.mix.writes > 0]
        total = sum(c.mix.writes * c.threads for c in writers)
        self._shares = [c.mix.writes * c.threads / total for c in writers]
        self._rngs = [np.random.default_rng(s) for s in seeds]
        self._streams: list[list[WriteStream]] = []
        self.cursors = [workload.cursor(region) for region in range(len(seeds))]
        for cursor in self.cursors:
            self._streams.append([c.start(sample, cursor) for c in writers])

    def memtable(self, store: int, entries: float) -> tuple[KeyArray, Tombstones]:
        """Distinct keys that the next `entries` writes of store number `store` touch, newest version each."""
        streams, rng = self._streams[store], self._rngs[store]
        if len(streams) == 1:
            return streams[0].fill(entries, rng)
        return fill_together(streams, [entries * s for s in self._shares], rng)


def run(config: Mapping[str, Any], progress: Progress | None = None, allowed: Sequence[str] = ()) -> Result:
    """Simulate one resolved configuration.

    Args:
        config: plain mapping with the groups engine, device, host, workload, keys, and `seed`, `checks`.
        progress: called now and then with the simulated time and its end, in seconds; results do not depend on it.
        allowed: packages besides lsmlab whose classes the configuration's `_target_` entries may name.

    Returns:
        The run's tables and summary.

    Raises:
        InputError: for a configuration that cannot be simulated; the message names the key.

    """
    seed = config.get("seed", 1)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed: {seed!r} must be a whole number, 0 or more")
    env = simpy.Environment()
    root = np.random.SeedSequence(seed)
    # one stream per component, in fixed order: engines that are compared meet the same clients and keys
    arrivals_seed, keys_seed, limiter_seed, reads_seed, preload_seed = root.spawn(5)
    setup = set_up(config, env, np.random.default_rng(limiter_seed), allowed)
    workload, machine = setup.workload, setup.machine
    fills = Fills(workload, setup.sample, keys_seed.spawn(workload.regions))
    stores = [
        Store(
            number, env, setup.engine, setup.content, machine, fills,
            StoreRecorder(number, setup.engine.options.num_levels), checks=bool(config.get("checks", False)),
        )
        for number in range(workload.regions)
    ]  # fmt: skip
    if workload.preload_keys > 0:
        for store, place in zip(stores, preload_seed.spawn(len(stores)), strict=True):
            store.preload(settled_tree(store, workload, setup.sample, np.random.default_rng(place)))
    until_s = workload.duration_s if workload.duration_s is not None else _LONGEST_RUN_S
    finished = env.event()

    def end() -> None:
        finished.succeed()

    reads = _reads(env, stores, setup, fills, np.random.default_rng(reads_seed))
    clients = ClientLoad(
        env, workload.clients, stores, machine, setup.shape, until_s, np.random.default_rng(arrivals_seed), reads,
        on_finished=end, log_reaches_device=setup.log_reaches_device,
    )  # fmt: skip
    clients.start()
    _advance(env, until_s, finished, progress)
    clients.settle()
    machine.device.settle()
    machine.cores.settle()
    for store in stores:
        store.recorder.close(env.now)
    return collect(config, setup, stores, clients, reads, env.now)


def _advance(env: simpy.Environment, until_s: float, finished: simpy.Event, progress: Progress | None) -> None:
    deadline = env.timeout(until_s)
    end = env.any_of([finished, deadline])
    if progress is None:
        env.run(until=end)
        return
    # drive the bar from outside the event loop, so that results are the same with and without it
    step_s = min(until_s, 86400.0) / _PROGRESS_STEPS
    while not end.processed:
        target_s = min(env.now + step_s, until_s)
        while env.peek() <= target_s and not end.processed:
            env.step()
        progress(min(target_s, env.peek()), until_s)
        if env.peek() > target_s:
            step_s = max(step_s, env.peek() - env.now)


def _reads(
    env: simpy.Environment, stores: list[Store], setup: Setup, fills: Fills, rng: np.random.Generator
) -> TreeReads | None:
    if not any(c.mix.gets + c.mix.scan > 0 for c in setup.workload.clients):
        return None
    from lsmlab.sim.reads import TreeReads

    return TreeReads(env, stores, setup, fills.cursors, rng)
