"""Phases of a run: db_bench's benchmarks one after the other on one store (`--benchmarks`), with its flags as names.

Source: tools/db_bench_tool.cc, `Benchmark::Run` (behaviour/db-bench.md, Phases).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.tree.key_order import Ordered
from lsmlab.models.units import build
from lsmlab.models.workloads.actions import ACTIONS, read_action, read_actions
from lsmlab.models.workloads.base import StoreAction, Workload, WorkloadPhase
from lsmlab.models.workloads.db_bench import (
    DbBench,
    DeleteRandom,
    FillRandom,
    FillSeq,
    FillUniqueRandom,
    Overwrite,
    WritingBench,
)
from lsmlab.models.workloads.db_bench_reads import (
    MultiReadRandom,
    ReadRandom,
    ReadRandomWriteRandom,
    ReadWhileWriting,
    SeekRandom,
    UpdateRandom,
)

BENCHMARKS: Final[Mapping[str, type[DbBench]]] = {
    "fillrandom": FillRandom, "fillseq": FillSeq, "filluniquerandom": FillUniqueRandom, "overwrite": Overwrite,
    "deleterandom": DeleteRandom, "updaterandom": UpdateRandom, "readrandom": ReadRandom,
    "multireadrandom": MultiReadRandom, "seekrandom": SeekRandom, "readwhilewriting": ReadWhileWriting,
    "readrandomwriterandom": ReadRandomWriteRandom,
}  # fmt: skip
"""Benchmarks with clients that a phase may name."""
_NOTE: Final = (
    "phases: the 90 % intervals are those of recorded runs of one benchmark; the numbers of no recorded run with several phases "
    "have been compared"
)
_FRESH: Final = ("fillrandom", "fillseq", "filluniquerandom")
"""Benchmarks before which db_bench destroys the store, unless it was told to use the existing one."""
NAMES_OF_DB_BENCH: Final = (*BENCHMARKS, "flush", "compact", "waitforcompaction", "levelstats")
"""Phases that db_bench's `--benchmarks` may name."""
_OPEN_ENDED: Final = (StoreAction.COMPACT, StoreAction.WAIT_FOR_COMPACTION)
"""Actions whose length the run finds out."""


@dataclass(frozen=True, kw_only=True)
class Phases(ReadWhileWriting, SeekRandom, MultiReadRandom, ReadRandomWriteRandom, WritingBench):
    """Benchmarks and actions in their order; flags apply to all benchmarks that have them, as in db_bench."""

    phases: Any = field(default=())
    """Names, or mappings of one name to flags of its own; or db_bench's spelling, names with commas between them."""
    use_existing_db: bool | None = None  # type: ignore[assignment]
    """Whether the store holds all keys at the start; None: unless the first benchmark fills it."""

    def workload(self) -> Workload:
        """Return the workload. Raises InputError for phases that do not fit one store."""
        built: list[tuple[WorkloadPhase, Workload | None]] = []
        for i, item in enumerate(phase_items(self.phases)):
            built.append(self._phase(i, item, before=sum(c.threads for step, _ in built for c in step.clients)))
        runs = [one for _, one in built if one is not None]
        if not runs:
            raise InputError(f"phases: at least one must be a benchmark: {', '.join(BENCHMARKS)}")
        first = runs[0]
        for one in runs[1:]:
            _check_same(first, one)
        steps = tuple(step for step, _ in built)
        lengths = [step.duration_s for step in steps if step.clients or step.action is StoreAction.WAIT]
        known = all(s is not None for s in lengths) and not any(step.action in _OPEN_ENDED for step in steps)
        total_s = sum(s for s in lengths if s is not None) if known else None
        return replace(
            first, name="phases", clients=tuple(c for one in runs for c in one.clients),
            duration_s=total_s, phases=steps, notes=(*first.notes, _NOTE),
        )  # fmt: skip

    def _phase(
        self, number: int, item: tuple[str, Mapping[str, Any]], before: int
    ) -> tuple[WorkloadPhase, Workload | None]:  # fmt: skip
        """Return a phase, with the workload of a benchmark as if it were alone.

        `before`: client threads of the phases before it, which db_bench counts in the seeds of their keys.
        """
        name, own = item
        where = f"workload.phases[{number}].{name}"
        if name in ACTIONS:
            return read_action(name, own, where), None
        if name not in BENCHMARKS:
            raise InputError(f"workload.phases[{number}]: {name!r} is not one of {', '.join([*BENCHMARKS, *ACTIONS])}")
        kind, own = BENCHMARKS[name], dict(own)
        beside = read_actions(own.pop("actions", None), f"{where}.actions")
        shared = {f.name: getattr(self, f.name) for f in fields(kind)} | {"seed": self.seed + before}
        if shared.get("use_existing_db", "") is None:
            del shared["use_existing_db"]
        if kind is ReadWhileWriting:
            del shared["writes"]  # db_bench's writer puts until the readers have finished
        given = build(kind, own, where)
        whole = replace(given, **{key: value for key, value in shared.items() if key not in own}).workload()
        if number > 0 and name in _FRESH and not whole.preload_keys:
            raise InputError(
                f"{where}: db_bench destroys the store before {name}; make it the first phase, or write overwrite"
            )
        return WorkloadPhase(name, whole.clients, whole.duration_s, actions=beside), whole


def phase_items(phases: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (name, own settings) of each phase, from any of the spellings."""
    if isinstance(phases, str):
        phases = [name.strip() for name in phases.split(",") if name.strip()]
    if not isinstance(phases, Sequence) or not phases:
        raise InputError("workload.phases: must be a list of phases, such as [fillrandom, compact, overwrite]")
    found: list[tuple[str, Mapping[str, Any]]] = []
    for i, item in enumerate(phases):
        if isinstance(item, str):
            found.append((item, {}))
        elif isinstance(item, Mapping) and len(item) == 1:
            ((name, own),) = item.items()
            found.append((str(name), {"duration": own} if name == "wait" and not isinstance(own, Mapping) else own or {}))
        else:
            raise InputError(
                f"workload.phases[{i}]: must be a name, or one name with its flags, such as {{overwrite: {{duration: 60s}}}}"
            )
    return found


def _check_same(first: Workload, other: Workload) -> None:
    """Raise InputError if two phases need different stores, or memtables of different entries."""
    for name in ("population", "key_size", "values", "shards", "shard_spread"):
        if getattr(first, name) != getattr(other, name):
            raise InputError(f"workload.phases: {name} of {first.name} and of {other.name} differ; give all phases the same")
    if other.key_order not in (first.key_order, Ordered()):
        raise InputError(f"workload.phases: {first.name} and {other.name} need different orders of the keys")
    writers = [c for one in (first, other) for c in one.clients if c.mix.writes > 0.0]
    if len({(c.mix.delete / c.mix.writes, c.batch_size, c.sync) for c in writers}) > 1:
        raise InputError(
            f"workload.phases: the writers of {first.name} and {other.name} differ in deletes, batch_size or sync, which is not "
            "modelled in one run; give them the same, or make the first a prefill"
        )
