"""Public runs on a desktop in which one option at a time was changed.

Each value of an option was run once, and with each option its default was run again. These repeats say how much the
machine differs from run to run: by up to 30 % in throughput on its SATA SSD, by 2 to 6 % in W-Amp.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lsmlab.validation.casefiles.public.rows import DEVICES, ENGINES, options, rows

_DEFAULTS: Final = {
    "compaction_style": "0", "max_bytes_for_level_multiplier": "10", "max_bytes_for_level_base": "268435456",
    "target_file_size_base": "67108864", "write_buffer_size": "67108864",
}  # fmt: skip
"""Values of the options when they are not the one that was changed."""


def ablations(data: Path) -> Iterator[dict[str, Any]]:
    """Fillrandom of 6.10 and 6.11 on a desktop: short runs, so W-Amp alone counts, with the noise of the defaults."""
    runs = [_mapping(row) for row in rows(data / "rate_limited_and_ablations.csv") if _is_ablation(row)]
    repeats: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        repeats[run["name"]].append(run["measured"]["write_amplification"])
    for run in runs:
        group, device = run["name"].split("-", 1)[0], run["device"]["base"]
        defaults = repeats[f"{group}-defaults-{device}"]
        yield run | {"noise": {"write_amplification": (max(defaults) - min(defaults)) * len(defaults) / sum(defaults)}}


def _is_ablation(row: Mapping[str, str]) -> bool:
    return row["path"].startswith("parameter_influence")


def _mapping(row: Mapping[str, str]) -> dict[str, Any]:
    _, group, option, value, *_ = row["path"].split("/")
    device = DEVICES[row["device"]]
    what = "defaults" if _DEFAULTS[option] == value else f"{option}-{value}"
    return {
        "name": f"ablations/{group}-{what}-{device}",
        "source": f"supermt/ADOC-Rocks-tracker {row['path']}: RocksDB {row['version']}",
        "store": {
            "engine": ENGINES[row["opt_compaction_style"]],
            "version": row["version"].rpartition(".")[0],
            "preset": "db_bench",
            "options": options(row) | {"bloom_bits": 10, "block_size": 65536},
        },
        "host": {"parameters": "i7_8700k"},
        "device": {"base": device, "page_cache": "16GiB"},
        "workload": {
            "base": "fillrandom", "key_size": int(row["key_size"]), "value_size": int(row["value_size"]),
            "num": int(row["entries"]),
        },
        "measured": {"write_amplification": float(row["wa_events"])},
    }  # fmt: skip
