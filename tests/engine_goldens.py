"""Golden texts of engines: commands call the five policies of an entry of configs/engine.

`engine vlsm engine.options.write_buffer_size=8MiB` makes an engine from overrides of the command line; all later
commands call its policies. Trees, picks and files are written as in `goldens`. Schedulers and tuners keep their state
until the next `engine` command.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from goldens import Arguments, Command, PickerSession, parse_tree, show_pick
from lsmlab.models.engines.engine import Engine
from lsmlab.models.engines.make import make_engine
from lsmlab.models.errors import InputError
from lsmlab.models.policies.decisions import CutContext, Picker, Scope, StallInputs, ThrottleState
from lsmlab.models.policies.rate_limiter import Priority, RateLimiter
from lsmlab.models.policies.scheduling import (
    Action,
    ClientWindow,
    Hold,
    JobKind,
    JobState,
    JobView,
    Pause,
    Pool,
    Resume,
    Scheduler,
    StartFlush,
    StoreView,
)
from lsmlab.models.policies.tuning import FlushDone, Interval, Tuner
from lsmlab.models.tree.merge import MergedStream
from lsmlab.models.tree.tree import Tree
from lsmlab.models.units import parse_quantity
from lsmlab.sim.configuration.compose import compose


def engine_of(*overrides: str) -> Engine:
    """Make the engine of a configuration."""
    return make_engine(compose(overrides)["engine"])


def show_action(action: Action) -> str:
    """Print an action of a scheduler."""
    if isinstance(action, StartFlush):
        return f"start flush in {action.pool.value}"
    if isinstance(action, Pause):
        return f"pause {action.job}"
    if isinstance(action, Resume):
        return f"resume {action.job} in {action.pool.value}"
    text = f"start {action.scope.value} compaction in {action.pool.value}"
    text += f", in the place of {' '.join(map(str, action.victims))}" if action.victims else ""
    return text + (f", if need be through {' '.join(map(str, action.holders))}" if action.holders else "")


@dataclass
class EngineSession:
    """Commands of an engine's golden text."""

    engine: Engine | None = None
    throttle: ThrottleState | None = None
    scheduler: Scheduler | None = None
    tuner: Tuner | None = None
    limiter: RateLimiter | None = None
    view: StoreView = field(default_factory=StoreView)
    pickers: PickerSession = field(init=False)
    clock_s: float = 0.0
    """End of the last client window that the scheduler observed, in s."""

    def __post_init__(self) -> None:
        self.pickers = PickerSession(lambda _arguments: self._picker())

    def commands(self) -> dict[str, Command]:
        """Return all commands by name."""
        own: dict[str, Command] = {
            "engine": self._engine, "pick": self._pick, "needs": self._needs, "cut": self._cut,
            "throttle": self._throttle, "view": self._view, "plan": self._plan, "observe": self._observe,
            "limit": self._limit, "tune": self._tune, "install": self._install,
        }  # fmt: skip
        return {**self.pickers.commands(), **own}

    def _picker(self) -> Picker:
        assert self.engine is not None, "begin with a line like: engine name=silk"
        return self.engine.picker

    def _engine(self, arguments: Arguments, lines: list[str]) -> str:
        name = arguments.pop("name")
        try:
            new_engine = engine_of(f"engine={name}", *(f"{key}={value}" for key, value in arguments.items()), *lines)
        except InputError as error:
            return f"refused: {error}"
        self.engine, self.throttle, self.clock_s = new_engine, new_engine.throttle.initial(), 0.0
        self.scheduler, self.tuner, self.view = new_engine.scheduler(), new_engine.tuner(), StoreView()
        self.limiter = None
        return new_engine.name

    def _pick(self, arguments: Arguments, lines: list[str]) -> str:
        tree, running = self.pickers.tree, self.pickers.running
        return show_pick(self._picker().pick(tree, running, 0.0, Scope(arguments.get("scope", "any"))))

    def _needs(self, arguments: Arguments, lines: list[str]) -> str:
        return str(self._picker().needs_compaction(self.pickers.tree, 0.0, Scope(arguments.get("scope", "any")))).lower()

    def _install(self, arguments: Arguments, lines: list[str]) -> str:
        """Replace the tree by the one in the lines below, and print the pick on it."""
        self.pickers.tree, self.pickers.running = parse_tree(lines, self.pickers.tree.num_levels)
        return self._pick(arguments, [])

    def _cut(self, arguments: Arguments, lines: list[str]) -> str:
        """Cut keys `10 20 …` of `bytes` each into files; the grandparent level is read from the current tree."""
        assert self.engine is not None
        keys = np.array([int(word) for line in lines for word in _keys(line)], dtype=np.int64)
        size, level = float(arguments["bytes"]), int(arguments["level"])
        stream = MergedStream(keys, np.arange(len(keys) + 1) * size)
        tree: Tree = self.pickers.tree
        lo, hi = int(keys[0]), int(keys[-1])
        guide = self.engine.cutter.guide_level(tree, level, lo, hi)
        empty = np.empty(0, dtype=np.int64)
        below = (empty, empty, empty)
        if guide is not None:
            run = tree.levels[guide]
            i, j = run.overlapping(lo, hi)
            below = (run.lo[i:j], run.hi[i:j], run.size[i:j])
        target = int(arguments.get("target", self.engine.target_file_bytes(tree, level)))
        context = CutContext(level, target, self.engine.options.max_compaction_bytes, guide is None, *below)
        cuts = [0, *self.engine.cutter.cuts(stream, context), len(keys)]
        return "\n".join(
            f"[{keys[a]}-{keys[b - 1]}]={(b - a) * size:.0f}" for a, b in pairwise(cuts)
        )

    def _throttle(self, arguments: Arguments, lines: list[str]) -> str:
        assert self.engine is not None
        inputs = StallInputs(
            immutables=int(arguments.get("immutables", "0")), l0_files=int(arguments.get("l0", "0")),
            pending_bytes=round(parse_quantity(arguments.get("pending", "0"), "bytes")),
        )  # fmt: skip
        assert self.throttle is not None
        self.throttle = state = self.engine.throttle.recompute(self.throttle, inputs)
        text = "free" if state.cause is None else state.cause.value
        if state.delayed:
            text += f" sleep={state.sleep_s * 1e6:.0f}us" if state.sleep_s else f" rate={state.rate_bytes_per_s}"
        return text + (" flushes held" if state.hold_flushes else "") + (" pressure" if state.pressure else "")

    def _view(self, arguments: Arguments, lines: list[str]) -> str:
        """Set the store's jobs: `waiting: flush l0 deep`, `3: deep L1->L2 low halted load`, `4: l0 L0->L1 low`."""
        view = StoreView(speedup=arguments.get("speedup", "no") == "yes", l0_files=int(arguments.get("l0", "0")))
        for line in lines:
            head, _, rest = line.partition(":")
            if head == "waiting":
                view.flush_waiting, view.l0_waiting = "flush" in rest.split(), "l0" in rest.split()
                view.compaction_waiting = "deep" in rest.split() or "any" in rest.split()
            else:
                view.jobs.append(_job(int(head), rest.split()))
        view.flushes = sum(j.kind is JobKind.FLUSH for j in view.jobs)
        view.compactions = sum(j.kind is not JobKind.FLUSH and j.hold is not Hold.PREEMPTED for j in view.jobs)
        self.view = view
        return f"{view.flushes} flushing, {view.compactions} compacting"

    def _plan(self, arguments: Arguments, lines: list[str]) -> str:
        assert self.scheduler is not None
        actions = self.scheduler.plan(self.view, float(arguments.get("coin", "0")))
        return "\n".join(map(show_action, actions)) or "nothing"

    def _observe(self, arguments: Arguments, lines: list[str]) -> str:
        assert self.scheduler is not None
        numbers = {key: parse_quantity(arguments.get(key, "0"), "bytes_per_s") for key in ("user", "device")}
        per_s = {key: parse_quantity(arguments.get(key, "0"), "per_s") for key in ("writes", "reads")}
        start_s, self.clock_s = self.clock_s, self.clock_s + self.scheduler.window_s
        window = ClientWindow(
            start_s=start_s, end_s=self.clock_s, write_ops_per_s=per_s["writes"], read_ops_per_s=per_s["reads"],
            user_bytes_per_s=numbers["user"], value_bytes=float(arguments.get("value", "1000")),
            device_bytes_per_s=numbers["device"],
        )  # fmt: skip
        rate = self.scheduler.observe(self.view, window)
        return "rate stays" if rate is None else f"rate {rate / 1e6:g} MB/s"

    def _limit(self, arguments: Arguments, lines: list[str]) -> str:
        """Print the limiter's rate at time `at`; `drained` counts refills of an empty bucket with a waiting request."""
        assert self.scheduler is not None
        if self.limiter is None:
            self.limiter = self.scheduler.limiter()
        if self.limiter is None:
            return "no limit"
        self.limiter.drains += int(arguments.get("drained", "0"))
        self.limiter.request(parse_quantity(arguments.get("at", "0"), "seconds"), 0, Priority.LOW, object())
        return f"{self.limiter.rate_bytes_per_s / 1e6:.3f} MB/s"

    def _tune(self, arguments: Arguments, lines: list[str]) -> str:
        """Run the tuner once: `l0=21 pending=65GiB immutables=1 full=0 files=3,25 flushes=64MiB/1.2s,64MiB/0.5s`."""
        if self.tuner is None:
            return "no tuner"
        flushes = [text.partition("/") for text in arguments.get("flushes", "").split(",") if text]
        files = tuple(int(n) for n in arguments.get("files", "").split(",") if n)
        interval = Interval(
            start_s=0.0, end_s=self.tuner.interval_s,
            flushes=tuple(
                FlushDone(round(parse_quantity(size, "bytes")), parse_quantity(length, "seconds"))
                for size, _, length in flushes
            ),
            memtables_full=int(arguments.get("full", "0")), immutables=int(arguments.get("immutables", "0")),
            l0_files=int(arguments.get("l0", "0")), files_per_level=files,
            pending_bytes=round(parse_quantity(arguments.get("pending", "0"), "bytes")),
            write_ops=parse_quantity(arguments.get("writes", "0"), "count"),
            read_ops=parse_quantity(arguments.get("reads", "0"), "count"),
            scan_ops=parse_quantity(arguments.get("scans", "0"), "count"),
            applying=arguments.get("applying", "no") == "yes",
        )  # fmt: skip
        changes: dict[str, Any] = dict(self.tuner.observe(interval))
        return " ".join(f"{key}={value}" for key, value in changes.items()) or "no change"


def _keys(line: str) -> list[int]:
    """Return the keys of a line: single ones, and ranges with a step such as 0-90/10."""
    keys: list[int] = []
    for word in line.split():
        bounds, _, step = word.partition("/")
        lo, dash, hi = bounds.partition("-")
        keys += range(int(lo), int(hi) + 1, int(step or 1)) if dash else [int(lo)]
    return keys


def _job(number: int, words: list[str]) -> JobView:
    job = JobView(number, JobKind(words[0]), Pool.HIGH if "high" in words else Pool.LOW)
    for word in words[1:]:
        if "->" in word:
            start, _, output = word.replace("L", "").partition("->")
            job.start_level, job.output_level = int(start), int(output)
        elif word in ("halting", "halted"):
            job.state = JobState(word)
        elif word in ("load", "preempted"):
            job.hold = Hold(word)
    return job
