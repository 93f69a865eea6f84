"""Development cases as a stranger would simulate them: no parameter set and no speed of the drive's session.

The drive is the entry of its class in configs/device, that is a data sheet; the host is the default one with the case's number
of cores. Store, load, caps and page cache stay, because their owner knows them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from lsmlab.sim.configuration.overrides import literal, override_key
from lsmlab.sim.studies.intervals import device_class
from lsmlab.validation.casefiles.case import Case, machine_of

_KEPT: Final = ("write_cap", "read_cap", "iops_cap", "background_cap", "page_cache", "throttle_kept_slices")
"""Keys of the device group that do not describe the drive."""
_ENTRIES: Final = ("nvme", "sata", "hdd", "pmem")
"""Classes of drives with an entry of their own in configs/device."""


def as_catalogue(case: Case) -> Case:
    """Return a case without its parameter set. Raises InputError for a case that does not compose."""
    config = case.config()
    kind = device_class(config)
    entry = kind if kind in _ENTRIES else config["device"]["name"]
    kept = [text for text in case.overrides if _stays(override_key(text))]
    machine = (f"device={entry}", f"host.cores={literal(config['host']['cores'])}")
    return replace(case, name=f"{case.name} (catalogue)", overrides=(*kept, *machine), machine=machine_of(case))


def _stays(key: str) -> bool:
    """Return whether an override is kept: all but those of host and drive."""
    group, _, name = key.partition(".")
    return group != "host" and (group != "device" or name in _KEPT)
