"""Requests of a device: the time of each is its latency plus its bytes divided by the bandwidth."""

from __future__ import annotations

from lsmlab.models.costs.cost import Cost, of_device


def lone_request_s(size_bytes: float, latency_s: float, bandwidth: float) -> float:
    """Return the seconds of one request of `size_bytes` on an idle device; `bandwidth` in bytes per second."""
    return latency_s + size_bytes / bandwidth


def reads(size_bytes: float, requests: float) -> Cost:
    """Return the time of sequential reads, one request after the other: the sum of `lone_request_s`."""
    return Cost(of_device(read_bandwidth=size_bytes, read_latency=requests))


def writes(size_bytes: float, requests: float) -> Cost:
    """Return the time of sequential writes, one request after the other."""
    return Cost(of_device(write_bandwidth=size_bytes, write_latency=requests))


def fsyncs(number: float) -> Cost:
    """Return the time of fsyncs of little data (a directory, the manifest), one after the other."""
    return Cost(of_device(fsync_latency=number))
