"""Growth of a store over months: simulated windows at several ages, each from a tree of the size reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from lsmlab.models.errors import InputError
from lsmlab.models.units import format_bytes, format_seconds, parse_quantity
from lsmlab.sim.results.job_sums import moved_bytes, write_amplification
from lsmlab.sim.results.reading import read_summary
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.estimate import CostEstimate
from lsmlab.sim.runs.store import StoredTable
from lsmlab.sim.studies.baseline import read_baseline
from lsmlab.sim.studies.differences import Repeats
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.growth.windows import (
    GrowthLoad,
    Horizon,
    check_comparable,
    full_config,
    load_of,
    usual_warm_s,
    window_configs,
)
from lsmlab.sim.studies.lengths import StoreState, state_of
from lsmlab.sim.studies.request import Request, argument, command_of, option
from lsmlab.sim.studies.study import Study, Variant

_YEAR_S: Final = 365.25 * 86400.0


@dataclass(frozen=True)
class WindowQuantity:
    """A number of a window."""

    label: str
    form: Callable[[float], str]
    absolute: bool = False
    """Whether its error is a difference (in points), not a relative one."""

    def text(self, value: float | None) -> str:
        """Format a value."""
        return "unknown" if value is None else self.form(value)


QUANTITIES: Final = {
    "ops_per_s": WindowQuantity("ops/s", "{:,.0f}".format),
    "write_p99_s": WindowQuantity("write P99", format_seconds),
    "write_amplification": WindowQuantity("W-Amp", "{:.2f}".format),
    "stalled": WindowQuantity("stalled", lambda share: f"{100 * share:.1f} %", absolute=True),
    "space_bytes": WindowQuantity("space", format_bytes),
    "written_per_s": WindowQuantity("written", lambda per_s: f"{per_s / 1e6:,.1f} MB/s"),
    "life_years": WindowQuantity("device life", lambda years: f"{years:.1f} y" if years < 1000 else "> 1000 y"),
}
"""Numbers of a window by name. `write_p99_s`: P99 of a second, median over the seconds; `life_years`: rated writes of the
device at the rate of the window."""


def measure(folder: Path, from_s: float, to_s: float) -> dict[str, float | None]:
    """Return the numbers of `QUANTITIES` between two times of a stored run."""
    series, jobs = StoredTable(folder / "series.parquet"), StoredTable(folder / "jobs.parquet")
    endurance = (read_summary(folder).get("device") or {}).get("endurance_bytes")
    return measured(series, jobs, from_s, to_s, endurance)


def measured(
    series: Mapping[str, Any], jobs: Mapping[str, Any], from_s: float, to_s: float, endurance_bytes: float | None
) -> dict[str, float | None]:
    """Return the numbers of `QUANTITIES` between two times, from the columns of the tables of a run."""
    times = np.asarray(series["t_s"], dtype=np.float64)
    inside = (times > from_s + 0.5) & (times <= to_s + 0.5)
    seconds = max(1, int(inside.sum()))

    def total(beginning: str) -> float:
        return float(sum(np.asarray(series[name])[inside].sum() for name in series if name.startswith(beginning)))

    last = int(np.flatnonzero(inside)[-1])
    ended = (np.asarray(jobs["end_s"]) > from_s) & (np.asarray(jobs["end_s"]) <= to_s)
    written, kinds = moved_bytes(jobs, "write").astype(np.float64), np.asarray(jobs["kind"])
    flushed = float(written[ended & (kinds == "flush")].sum())
    compacted = float(written[ended & (kinds == "compaction")].sum())
    per_s = total("write_bytes_") / seconds
    served = np.asarray(series["write_ops"])[inside] > 0
    p99 = np.asarray(series["write_p99_s"])[inside][served]
    return {
        "ops_per_s": (total("write_ops") + total("read_ops")) / seconds,
        "write_p99_s": float(np.median(p99)) if len(p99) else None,
        "write_amplification": write_amplification(flushed, compacted),
        "stalled": total("stall_") / seconds,
        "space_bytes": float(
            sum(np.asarray(series[n])[last] for n in series if n.startswith("level_bytes_") or n == "blob_bytes")
        ),
        "written_per_s": per_s,
        "life_years": endurance_bytes / per_s / _YEAR_S if endurance_bytes and per_s > 0.0 else None,
    }


def difference(name: str, value: float | None, reference: float | None) -> float | None:
    """Return the error of a number: relative, or in points for a share; None if it is unknown."""
    if value is None or reference is None:
        return None
    if QUANTITIES[name].absolute:
        return value - reference
    return value / reference - 1.0 if reference else math.nan if value else 0.0


_FULL: Final = "full"
Numbers = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class GrowthRequest(Request):
    """Show how a store ages over months: simulate windows at several ages, each from a tree of the size reached."""

    store: str = argument("RUN", "folder of 'lsmlab import', folder of a run, or an override such as experiment=NAME")
    set: tuple[str, ...] = option((), "override for all runs", metavar="KEY=VALUE")
    horizon: str = option(MISSING, "time of growth, such as 180d or 12h", metavar="TIME")
    windows: int = option(7, "number of windows (default: 7)", metavar="N")
    window: str = option("10min", "measured time of a window (default: 10min)", metavar="TIME")
    warm: str | None = option(
        None, "simulated time before it (default: clients write 30 %% of the keys)", metavar="TIME"
    )
    check: bool = option(False, "simulate the whole horizon too, and give the errors of the windows")


@dataclass(frozen=True)
class GrowthWindow:
    """Store at one age."""

    age_s: float
    """Middle of the measured part of the window."""
    keys: float
    ops_per_s: float
    write_p99_s: float | None
    """P99 of a second, median over the seconds."""
    write_amplification: float | None
    stalled: float
    """Share of the time."""
    space_bytes: float
    written_per_s: float
    life_years: float | None
    """Rated writes of the device at the rate of the window."""
    written_bytes: float
    """Bytes written from the start to this age."""
    endurance_used: float | None


@dataclass(frozen=True)
class Growth(Document):
    """Growth of a store; the content of growth.json."""

    store: str
    horizon_s: float
    warm_s: float
    window_s: float
    simulated_s: float
    keys: float
    """Keys at the start."""
    inserts_per_s: float
    windows: list[GrowthWindow]
    full: list[dict[str, float | None]] | None = None
    """Numbers of the same times of a run over the whole horizon (`check`)."""
    errors: dict[str, list[float | None]] | None = None
    """Errors of the windows against that run, by number."""
    states: list[StoreState] = field(default_factory=list)
    """Whether the store of each window had settled, and what held its clients back."""
    command: str = ""
    """Command that repeats the answer."""


def _planned(request: GrowthRequest) -> tuple[Horizon, GrowthLoad, dict[str, dict[str, Any]]]:
    """Return the times, the load, and the configurations of the windows and of the full run."""
    window_s, length_s = _seconds(request.window, "window"), _seconds(request.horizon, "horizon")
    config = read_baseline(request.store, request.set, request.config_dirs).compose()
    load = load_of(config)
    warm_s = _seconds(request.warm, "warm") if request.warm else usual_warm_s(load, length_s, request.windows, window_s)
    horizon = Horizon(length_s, request.windows, warm_s, window_s)
    configs = {f"window_{number}": own for number, own in enumerate(window_configs(config, horizon), 1)}
    if request.check:
        check_comparable(config)
        configs[_FULL] = full_config(config, horizon)
    return horizon, load, configs


def cost(request: GrowthRequest, runs: Settings) -> CostEstimate:
    """Return the estimated cost of the windows that the run store lacks."""
    *_, configs = _planned(request)
    return Study({name: Variant(own) for name, own in configs.items()}, perturbed=False).cost(runs)


def grow(request: GrowthRequest, runs: Settings, folder: Path) -> Growth:
    """Simulate the windows of a store; `folder` gets a folder for each. Raises InputError for one that cannot grow."""
    horizon, load, configs = _planned(request)
    variants = {name: Variant(own, folder=folder / name) for name, own in configs.items()}
    outcome = Study(variants, perturbed=False).run(runs, [folder])
    summaries = [outcome.repeats(name).summaries[0] for name in configs]  # raises for a failed run
    first, last = horizon.warm_s, horizon.warm_s + horizon.window_s
    found = [measure(folder / name, first, last) for name in configs if name != _FULL]
    full = None
    if request.check:
        full = [measure(folder / _FULL, begin_s + first, begin_s + last) for begin_s in horizon.begins_s]
    endurance = (summaries[0].get("device") or {}).get("endurance_bytes")
    answer = growth(request.store, horizon, load, found, full, endurance)
    states = [state_of(Repeats([one])) for one in summaries[: horizon.count]]
    return replace(answer, states=states, command=command_of("grow", request))


def growth(
    name: str, horizon: Horizon, load: GrowthLoad, found: Sequence[Numbers], full: Sequence[Numbers] | None,
    endurance_bytes: float | None,
) -> Growth:  # fmt: skip
    """Return the answer. `found`: numbers of each window; `full`: those of the same times of a full run, if any."""
    middles = [begin_s + horizon.warm_s + horizon.window_s / 2.0 for begin_s in horizon.begins_s]
    worn = written_until(middles, [float(n["written_per_s"] or 0.0) for n in found])
    rows = [
        GrowthWindow(
            age_s=age_s, keys=load.keys_at(age_s), written_bytes=total,
            endurance_used=total / endurance_bytes if endurance_bytes else None, **numbers,
        )
        for age_s, numbers, total in zip(middles, found, worn, strict=True)
    ]  # fmt: skip
    errors = None
    if full is not None:
        pairs = list(zip(found, full, strict=True))
        errors = {name: [difference(name, own[name], whole[name]) for own, whole in pairs] for name in QUANTITIES}
    return Growth(
        name, horizon.length_s, horizon.warm_s, horizon.window_s, horizon.count * (horizon.warm_s + horizon.window_s),
        load.keys, load.inserts_per_s, rows, None if full is None else [dict(numbers) for numbers in full], errors,
    )  # fmt: skip


def written_until(ages_s: Sequence[float], per_s: Sequence[float]) -> list[float]:
    """Return the bytes written from the start to each age; the rate changes linearly between two ages.

    >>> written_until([10.0, 30.0], [5.0, 15.0])
    [50.0, 250.0]
    """
    ages, rates = np.asarray(ages_s), np.asarray(per_s)
    between = (rates[1:] + rates[:-1]) / 2.0 * np.diff(ages)
    return np.cumsum(np.concatenate(([ages[0] * rates[0]], between))).tolist()  # type: ignore[no-any-return]


def _seconds(text: str, name: str) -> float:
    """Return a time such as 10min or 180d in s. Raises InputError for any other text."""
    try:
        value = parse_quantity(text, "seconds")
    except InputError as error:
        raise InputError(f"--{name} {text}: {error}") from None
    if value < 10.0:
        raise InputError(f"--{name} {text}: must be at least 10 s")
    return float(value)
