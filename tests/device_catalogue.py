"""Every device of the configuration, composed as for a run."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import lsmlab.configs
from lsmlab.models.devices.base import Device, DeviceLoad, Flow
from lsmlab.models.devices.make import DeviceSetup, make_device
from lsmlab.sim.configuration.compose import compose

CONFIGS = Path(lsmlab.configs.__file__).parent.resolve()
NAMES = sorted(path.stem for path in (CONFIGS / "device").glob("*.yaml") if not path.stem.startswith("_"))


@cache
def _composed(name: str) -> dict[str, Any]:
    return dict(compose([f"device={name}"])["device"])


def mapping(name: str, **changes: Any) -> dict[str, Any]:
    """Return the composed configuration of a device with `changes` applied."""
    return _composed(name) | changes


def setup(name: str, **changes: Any) -> DeviceSetup:
    """Return the device that a run with this configuration would simulate."""
    return make_device(mapping(name, **changes))


def drive(
    device: Device, load: DeviceLoad, duration_s: float, state: Any = None
) -> tuple[Any, Flow, list[tuple[float, Flow]]]:
    """Apply a constant load as the simulation does.

    Returns the state at the end, the total flow, and (duration in s, flow) of each stretch between two allocations.
    """
    state = device.initial() if state is None else state
    left, stretches = duration_s, []
    while left > 1e-12:
        grant = device.allocate(state, load)
        step = min(left, grant.valid_for_s)
        point_reads = load.client_read_iops * grant.client_read_share * step
        read = load.readers * grant.read_bytes_per_s * step
        write = load.writers * grant.write_bytes_per_s * step
        write += load.client_write_bytes_per_s * grant.client_write_share * step
        flow = Flow(
            read_bytes=read + point_reads * load.client_read_bytes,
            write_bytes=write,
            reads=read / load.read_request_bytes + point_reads,
            writes=write / load.write_request_bytes,
        )
        state = device.advance(state, step, flow)
        stretches.append((step, flow))
        left -= step
    total = Flow(
        sum(f.read_bytes for _, f in stretches),
        sum(f.write_bytes for _, f in stretches),
        sum(f.reads for _, f in stretches),
        sum(f.writes for _, f in stretches),
    )
    return state, total, stretches
