"""Measures this machine: its drive by requests of its own, its cores by short runs of real RocksDB.

- request: what is asked; measuring: the steps from the request to the file, with their progress.
- place: the folder of the measurement: refuses what is no disk or too small, removes what a killed run left.
- patterns: kinds of requests, and their times; drive_io: performs them; drive: the requests to measure, and the constants of
  the drive that follow from their times.
- stages: short runs of RocksDB, each chosen for constants of the host; busy: how busy the machine was.
- machine_file: the parameter set as a file, with what was not determined; nearest: the nearest drive of configs/device.
"""
