"""Storage devices: bandwidth, latency and limits under load.

- base: base classes of devices and of limits over them; make: devices from configurations; sharing: how requests share
  bandwidth.
- nvme, sata_ssd and flash: flash devices; hdd: hard disks; pmem: persistent memory; cloud: volumes with burst credit.
- conditions: other parameters, less space and failing compactions from a moment on.
- capped: caps over a device, on all bytes and operations or on those of flushes and compactions; cap_limits: their limits.
"""
