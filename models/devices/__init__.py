"""Devices: bandwidth and latency of what clients and jobs ask for.

- base: contract of a device; make: device of a configuration; sharing: division of a device's time.
- flash: garbage collection, SLC cache, wear; nvme, sata_ssd: flash drives; hdd: hard disks; pmem: persistent memory;
  cloud: cloud volumes.
- throttled: caps of a cgroup; throttle_limits: streams that a cap holds.
"""
