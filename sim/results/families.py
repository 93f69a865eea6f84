"""Numbers per column family, for summary.json of a run with several column families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lsmlab.models.policies.decisions import THROTTLE_CAUSES
from lsmlab.sim.results.finished import JobSums
from lsmlab.sim.results.level_tables import compaction_stats, files_per_level, level_rows
from lsmlab.sim.store.column_family import ColumnFamily

if TYPE_CHECKING:
    from lsmlab.sim.setup import FamilySetup, Setup


def family_summaries(setup: Setup, families: Sequence[ColumnFamily], jobs: JobSums) -> dict[str, dict[str, Any]]:
    """Return sizes, flushes, compactions, levels and stall counts by column family, summed over shards."""
    return {
        one.name: _summary(one, [f for f in families if f.name == one.name], jobs.where("column_family", one.name))
        for one in setup.families
    }


def _summary(setup: FamilySetup, families: Sequence[ColumnFamily], jobs: JobSums) -> dict[str, Any]:
    flushes, compactions = (jobs.where("kind", kind) for kind in ("flush", "compaction"))
    flush_bytes, compaction_bytes = (kind.whole("write_bytes") for kind in (flushes, compactions))
    return {
        "write_share": setup.share.writes,
        "read_share": setup.share.reads,
        "live_bytes": sum(f.tree.total_bytes() for f in families),
        "live_entries": sum(f.tree.live_entries() for f in families),
        "preloaded_entries": sum(f.recorder.entries_preloaded for f in families),
        "dropped_entries": sum(f.recorder.entries_dropped_by_drop for f in families),
        "flush_count": len(flushes),
        "flush_bytes": flush_bytes,
        "flush_reasons": dict(sorted(flushes.count("reason").items())),
        "compaction_count": len(compactions),
        "compaction_write_bytes": compaction_bytes,
        "write_amplification": (flush_bytes + compaction_bytes) / flush_bytes if flush_bytes else 1.0,
        "stall_count": {cause.value: sum(f.recorder.stall_counts[cause] for f in families) for cause in THROTTLE_CAUSES},
        "files_per_level": files_per_level(families),
        "levels": level_rows(families, jobs),
        "compaction_stats": compaction_stats(families, jobs),
    }
