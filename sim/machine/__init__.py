"""Machine that all databases of a run share: device, cores, page cache, journal and rate limiter.

- Machine: machine; built from options and device: make; caps that can bind: caps. Order of a job's work: steps, gate.
- Stations: core_station, device_station, limiter, journal, page_cache. Their queues and timers: queues.
- Times of transfers: transfers. Checks against queueing theory: sojourn.
"""
