"""Estimators of `lsmlab import` in their order: functions of the observation and of earlier estimates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from lsmlab.validation.importer.clients import sleep_penalty, wal_fsync, write_op
from lsmlab.validation.importer.cpu import codec_cpu, compaction_cpu, flush_cpu
from lsmlab.validation.importer.estimates import Earlier, Estimates
from lsmlab.validation.importer.fsyncs import FLUSH_CPU, fsync_bandwidth, small_fsync
from lsmlab.validation.importer.job_times import file_overhead, job_start
from lsmlab.validation.importer.observation import Observation
from lsmlab.validation.importer.throughput import streams, throughput


class Estimator(NamedTuple):
    """One step from the observation to estimates."""

    estimate: Callable[[Observation, Earlier], Estimates]
    needs: tuple[str, ...] = ()
    """Names of the earlier estimates that the step gets."""


ESTIMATORS: Final = (
    Estimator(compaction_cpu),
    Estimator(flush_cpu, ("host.compaction_record", "host.compress_byte")),
    Estimator(codec_cpu, ("host.compaction_byte", "host.compress_byte", "host.decompress_byte")),
    Estimator(job_start),
    Estimator(file_overhead),
    Estimator(streams),
    Estimator(small_fsync),
    Estimator(fsync_bandwidth, ("device.fsync_latency", *FLUSH_CPU)),
    Estimator(throughput, ("device.write_bandwidth", *FLUSH_CPU)),
    Estimator(write_op),
    Estimator(wal_fsync),
    Estimator(sleep_penalty, ("host.write_op",)),
)


def estimate(observation: Observation) -> Estimates:
    """Run all estimators in order; return all estimates and notes."""
    found = Estimates()
    for step in ESTIMATORS:
        found += step.estimate(observation, {name: found.get(name) for name in step.needs})
    return found
