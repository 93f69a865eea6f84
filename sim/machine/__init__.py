"""Machine that all databases of a run share: device, cores, page cache, journal and rate limiter.

- Machine: machine; its devices with their file systems: volume; built from options and devices: make; caps that can bind: caps.
- Jobs: order of their work and what they waited for: steps, gate.
- Stations: core_station, device_station, limiter, journal, page_cache. Their queues and timers: queues.
- Shares of the clients of several databases: client_shares.
- Space for files, failing compactions: space.
- Use of the stations by time: usage_log. Checks against queueing theory: sojourn.
"""
