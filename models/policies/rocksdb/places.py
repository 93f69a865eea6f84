"""Level and device of new files: young data, paths, temperatures (behaviour/tiered-placement.md, Tiered placement)."""

from __future__ import annotations

from typing import Final

from lsmlab.models import since
from lsmlab.models.options.fields import CompactionStyle, RocksDbOptions
from lsmlab.models.version import Version

FIRST_PATH: Final = 0
"""Path of flushes and blob files."""
NO_LEVEL: Final = -1
CHANGE_TEMPERATURE: Final = "ChangeTemperature"
"""Reason of FIFO's compactions that only change the temperature of files."""


def path_of_level(options: RocksDbOptions, version: Version, level: int) -> int:
    """Return the index of the path of a level: the first one with room for its target and those of the levels above it.

    L0 counts as large as `max_bytes_for_level_base`, and so does L1, except in the oldest releases. Source:
    `LevelCompactionBuilder::GetPathId`.
    """
    paths, path, above = options.paths, FIRST_PATH, 0
    additional = options.max_bytes_for_level_multiplier_additional
    left, level_bytes = (paths[0].target_size if paths else 0), options.max_bytes_for_level_base
    while path < len(paths) - 1:
        if level_bytes > left:
            path += 1
            left = paths[path].target_size
        elif above == level:
            break
        else:
            left -= level_bytes
            if version < since.PATH_BY_LEVEL_TARGETS:
                level_bytes = int(level_bytes * options.max_bytes_for_level_multiplier)
            elif above > 0:
                factor = additional[above] if above < len(additional) else 1
                level_bytes = int(level_bytes * options.max_bytes_for_level_multiplier * factor)
            above += 1
    return path


def path_of_run(options: RocksDbOptions, run_bytes: int) -> int:
    """Return the index of the path of a sorted run of universal compaction of about `run_bytes`.

    The path has room for the run, and it and those before have room for what will be written until its next compaction.
    Source: `UniversalCompactionBuilder::GetPathId`.
    """
    before, later = 0, run_bytes * (100 - options.compaction_options_universal.size_ratio) // 100
    for path, one in enumerate(options.paths[:-1]):
        if one.target_size > run_bytes and before + one.target_size - run_bytes > later:
            return path
        before += one.target_size
    return max(0, len(options.paths) - 1)


def is_cold(options: RocksDbOptions, version: Version, level: int, *, bottommost: bool, run_bytes: int) -> bool:
    """Return whether a compaction writes its files of a level to `cold_device`.

    `bottommost`: no deeper file overlaps the job; before 7.6 this decides, later the number of the level. `run_bytes`: estimated
    size of the output of a universal compaction. Source: `CompactionJob::OpenCompactionOutputFile`.
    """
    if options.last_level_temperature.leaves:
        if version < since.LAST_LEVEL_TEMPERATURE:
            return bottommost and level > 0
        return level == options.num_levels - 1
    if options.compaction_style is CompactionStyle.UNIVERSAL:
        return path_of_run(options, run_bytes) > FIRST_PATH
    return path_of_level(options, version, level) > FIRST_PATH


def proximal_level(options: RocksDbOptions, version: Version, start_level: int, output_level: int, *, empty: bool) -> int:
    """Return the level above the last one to which a compaction into the last one writes young data; `NO_LEVEL`: to none.

    `empty`: whether that level has no files. Source: `Compaction::EvaluatePenultimateLevel` (now EvaluateProximalLevel).
    """
    level = output_level - 1
    if not options.preclude_last_level_data_seconds or output_level != options.num_levels - 1 or level <= 0:
        return NO_LEVEL
    universal = options.compaction_style is CompactionStyle.UNIVERSAL
    if options.compaction_style is not CompactionStyle.LEVEL and not universal:
        return NO_LEVEL
    may_move_up = universal and empty and version >= since.YOUNG_DATA_MOVE_UP
    return NO_LEVEL if start_level == output_level and not may_move_up else level
