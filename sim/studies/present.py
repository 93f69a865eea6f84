"""Present state of a store, as the candidates of an advice see it: options in force, configuration, and one run or LOG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from lsmlab.models.devices.make import device_class_of
from lsmlab.models.engines.make import DEFAULT_FAMILY, family_names
from lsmlab.models.errors import InputError
from lsmlab.models.options.defaults import releases_of
from lsmlab.models.options.values import flatten, option_types, plain, read_value
from lsmlab.models.units import parse_quantity
from lsmlab.models.version import Version
from lsmlab.models.workloads.make import family_shares, make_workload
from lsmlab.models.workloads.values import FixedSize, ValueSizes, large_values
from lsmlab.sim.studies.intervals import is_saturating

OPTIONS: Final = "engine.options"
"""Path of RocksDB's options in a configuration."""
LEVEL, UNIVERSAL, FIFO = "kCompactionStyleLevel", "kCompactionStyleUniversal", "kCompactionStyleFIFO"
CAPS: Final = ("write_cap", "read_cap", "background_cap", "iops_cap")
"""Limits of the groups device and limits."""
RATES: Final = (*CAPS[:3], "delayed_write_rate", "rate_limiter_bytes_per_sec")
"""Limits and options in bytes per second."""
SHARED_BYTES: Final = ("shared.write_buffer_manager", "shared.block_cache")
"""Sizes of what the databases of a process share."""
THREADS: Final = {"shared.flush_threads": 0, "shared.compaction_threads": 1}
"""Threads of a process, which follow from the options of its databases if they are not given."""
_NEVER_FILES: Final = 100_000
"""Number of L0 files from which a trigger is a way to switch it off."""
_LARGE_VALUE_BYTES: Final = 1000
"""Smallest value for which RocksDB's authors measured blob files: 1 KB (rocksdb.org, "Integrated BlobDB", 2021)."""


@dataclass(frozen=True)
class Present:
    """Store whose changes are sought."""

    options: Mapping[str, Any]
    """Options in force of one column family, by flat name; an imported LOG may lack some."""
    config: Mapping[str, Any]
    """Configuration; empty for an imported LOG."""
    summary: Mapping[str, Any]
    """Summary of a run, or of the LOG."""
    family: str = ""
    """Key in `engine.families` of the column family whose options these are; "" for those of `engine.options`."""
    name: str = DEFAULT_FAMILY
    """Name of that family."""

    @classmethod
    def of(cls, summary: Mapping[str, Any], config: Mapping[str, Any]) -> Present:
        """Return the present state of the database; its options are those of the default family."""
        return cls(flatten(summary.get("options") or {}), config, summary)

    def of_family(self, name: str) -> Present | None:
        """Return the state of the column family of this name; None if the configuration does not know it."""
        if name == DEFAULT_FAMILY:
            return self
        engine = self.config.get("engine") or {}
        key = next((key for key, own in family_names(engine).items() if own == name), None)
        if key is None:
            return None
        given = flatten((engine["families"][key] or {}).get("options") or {})
        own = {option: plain(read_value(option, value)) for option, value in given.items() if value is not None}
        return Present({**self.options, **own}, self.config, self.summary, key, name)

    @property
    def families(self) -> int:
        """Return the number of column families."""
        return len({DEFAULT_FAMILY, *family_names(self.config.get("engine") or {}).values()})

    @property
    def cores(self) -> float:
        """Return the number of cores; 0 if it is not known."""
        return float((self.summary.get("cpu") or {}).get("cores") or (self.config.get("host") or {}).get("cores") or 0.0)

    @property
    def version(self) -> Version | None:
        """Return the release; None if it is not known."""
        text = (self.config.get("engine") or {}).get("version") or self.summary.get("engine_version")
        try:
            return Version.parse(str(text)) if text else None
        except InputError:
            return None

    @cached_property
    def values(self) -> ValueSizes | None:
        """Return the sizes of the values of the column family; None if they are not known."""
        load, engine = self.config.get("workload"), self.config.get("engine")
        if not load or not engine:
            return None
        try:
            names = [DEFAULT_FAMILY, *(name for name in family_names(engine).values() if name != DEFAULT_FAMILY)]
            return family_shares(load.get("families"), names)[self.name].load.workload(make_workload(load)).values
        except InputError:
            return None

    def policy(self, group: str) -> str:
        """Return the name of the class of a policy, such as RocksDbPicker; "" if the configuration does not have it."""
        part = (self.config.get("engine") or {}).get(group) or {}
        return str(part.get("_target_") or "").rpartition(".")[2]

    def has(self, option: str) -> bool:
        """Return whether the release has an option."""
        return self.version is None or releases_of(self.version, option) is None

    def value(self, key: str) -> Any:
        """Return the present value of an option by its flat name, or of another key by its path; None if there is none.

        Limits of the device are numbers in base units.
        """
        if key in option_types():
            return self.options.get(key)
        node: Any = self.config
        *path, last = key.replace("/", ".").split(".")
        for part in (*path, last):
            node = node.get(part) if isinstance(node, Mapping) else None
        if node is None and key in THREADS:
            return self._threads(THREADS[key])
        if node is None or (last not in CAPS and key not in SHARED_BYTES):
            return node
        try:
            if key in SHARED_BYTES:
                return round(parse_quantity(node, "bytes"))
            return parse_quantity(node, "bytes_per_s" if last in RATES else "count")
        except InputError:
            return None

    def _threads(self, kind: int) -> int | None:
        """Return the threads that the databases of a process share, for flushes (0) or compactions (1); None for one database."""
        if not self.config.get("databases"):
            return None
        names = ("max_background_flushes", "max_background_compactions", "max_background_jobs")
        flushes, compactions, jobs = (int(self.options.get(name) or -1) for name in names)
        if flushes == compactions == -1:
            flushes = max(1, jobs // 4)
            compactions = jobs - flushes
        return max(1, (flushes, compactions)[kind])


Condition = Callable[[Present], bool]
"""Whether a change, or an option, has any effect in the present state."""


def anywhere(_: Present) -> bool:
    """Return that a change has no condition."""
    return True


def has_key(key: str) -> Condition:
    """Return the condition that the configuration sets this key."""
    return lambda present: bool(present.value(key))


def all_of(*conditions: Condition) -> Condition:
    """Return the condition that all of these hold."""
    return lambda present: all(holds(present) for holds in conditions)


def style(*names: str) -> Condition:
    """Return the condition that the store compacts in one of these styles; an engine with a picker of its own has none."""
    return lambda p: p.policy("picker") in ("", "RocksDbPicker") and p.options.get("compaction_style") in names


def picker(*names: str) -> Condition:
    """Return the condition that one of these classes picks compactions, RocksDB's with levels."""
    return lambda p: p.policy("picker") in names or style(LEVEL)(p)


def policy_is(group: str, *names: str) -> Condition:
    """Return the condition that a policy of the engine is one of these classes; a LOG's is RocksDB's."""
    return lambda p: p.policy(group) in ("", *names)


def policy_is_not(group: str, *names: str) -> Condition:
    """Return the condition that a policy of the engine is known and none of these classes."""
    return lambda p: p.policy(group) not in ("", *names)


def drive(*classes: str) -> Condition:
    """Return the condition that the drive is of one of these classes."""
    return lambda p: (device_class_of(p.config.get("device") or {}) or "") in classes


def faster_drive(present: Present) -> bool:
    """Return whether the drive is faster than a disk and a SATA SSD, or of no known class."""
    return not drive("hdd", "sata")(present)


def buffered(present: Present) -> bool:
    """Return whether the machine has a page cache, so that options decide about direct I/O; so it may be in a LOG."""
    return not present.config or bool(present.value("device.page_cache"))


def reads(present: Present) -> bool:
    """Return whether the load has reads or scans."""
    return bool(present.summary.get("read_ops_per_s"))


def several_families(present: Present) -> bool:
    """Return whether the database has more than one column family."""
    return present.families > 1


def one_family(present: Present) -> bool:
    """Return whether the database has one column family."""
    return present.families == 1


def since_release(first: Version) -> Condition:
    """Return the condition that the store is of this release or a later one."""
    return lambda p: p.version is None or p.version >= first


def three_memtables(present: Present) -> bool:
    """Return whether two memtables can be flushed together."""
    return int(present.options.get("max_write_buffer_number") or 0) > 2


def merges(present: Present) -> bool:
    """Return whether compactions merge files into others, which FIFO hardly does."""
    return present.options.get("compaction_style") != FIFO


def l0_limits(present: Present) -> bool:
    """Return whether the number of L0 files ever slows writers: FIFO has no such limit (SanitizeCfOptions)."""
    return merges(present) and int(present.options.get("level0_slowdown_writes_trigger") or 0) < _NEVER_FILES


def compressed_by(*codecs: str) -> Condition:
    """Return the condition that blocks are compressed by one of these codecs."""
    return lambda p: p.options.get("compression") in codecs


def upper_levels_stored(present: Present) -> bool:
    """Return whether a list of codecs by level has none for the upper levels and one for the last."""
    codecs = present.options.get("compression_per_level") or ["kNoCompression"]
    return bool(codecs[0] == "kNoCompression" and codecs[-1] != "kNoCompression")


def limiter(present: Present) -> bool:
    """Return whether RocksDB's rate limiter is on."""
    return bool(present.options.get("rate_limiter_bytes_per_sec"))


def no_limiter(present: Present) -> bool:
    """Return whether RocksDB's rate limiter is off."""
    return not limiter(present)


def derived_jobs(present: Present) -> bool:
    """Return whether max_background_jobs decides: the two old options, if set, replace it (DBImpl::GetBGJobLimits)."""
    return all(present.options.get(f"max_background_{kind}") in (-1, None) for kind in ("flushes", "compactions"))


def old_jobs(present: Present) -> bool:
    """Return whether the two old options decide about the jobs."""
    return not derived_jobs(present)


def capped(present: Present) -> bool:
    """Return whether a limit of the group limits is set."""
    return any(v is not None for k, v in (present.config.get("limits") or {}).items() if k in CAPS)


def failing(present: Present) -> bool:
    """Return whether the drive changes or jobs fail during the run."""
    conditions = present.config.get("conditions") or {}
    return bool(conditions.get("changes") or conditions.get("compaction_errors"))


def open_loop(present: Present) -> bool:
    """Return whether operations arrive at times of their own and wait for a thread of the clients."""
    return "threads" in (present.config.get("workload") or {}) and not is_saturating(present.config)


def shared_memtables(present: Present) -> bool:
    """Return whether a write buffer manager bounds all memtables together."""
    return bool(present.options.get("db_write_buffer_size")) or has_key("shared.write_buffer_manager")(present)


def large(present: Present) -> bool:
    """Return whether large values are known to hold most bytes of all values."""
    values = present.values
    if values is None:
        return False
    found = large_values(values, _LARGE_VALUE_BYTES)
    return found.share * found.large_bytes > 0.5 * values.mean_bytes


def values_vary(present: Present) -> bool:
    """Return whether values are known to have different sizes."""
    return present.values is not None and not isinstance(present.values, FixedSize)


def option_is(name: str, *values: Any) -> Condition:
    """Return the condition that an option is known and has one of these values."""
    return lambda p: p.options.get(name) in values
