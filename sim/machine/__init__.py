"""What all stores of a run share: device, cores, page cache, journal and rate limiter, and how work passes through them.

- The whole: machine, and make, which builds it from options and device; the order of a job's work: steps, gate.
- Stations: core_station, device_station, limiter, journal, page_cache; what they are made of: queues.
- When each transfer ran: transfers. For checks against queueing theory: sojourn.
"""
