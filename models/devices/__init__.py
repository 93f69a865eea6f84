"""Storage devices: bandwidth, latency and limits under load.

- base: base classes of devices and of limits over them; make: devices from configurations; sharing: how requests share bandwidth.
- nvme, sata_ssd and flash: flash devices; hdd: hard disks; pmem: persistent memory; cloud: volumes with burst credit.
- conditions: other parameters, less space and failing compactions from a moment on.
- background_cap: a limit on what flushes and compactions read and write together.
- throttled: a limit on operations and bytes of a device; throttle_limits: the limits.
"""
