"""Conditions of a run in its results: changes of the device, failed jobs, and recoveries (`conditions` of summary.json)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from lsmlab.models.devices.conditions import Conditions
from lsmlab.models.units import format_bytes, format_seconds
from lsmlab.sim.store.background_errors import ErrorRecord

if TYPE_CHECKING:
    from lsmlab.sim.setup import Setup
    from lsmlab.sim.store.database import Database

_MOST: Final = 1000
"""Largest number of errors that the summary lists."""


def condition_facts(setup: Setup, databases: Sequence[Database]) -> dict[str, Any] | None:
    """Return the entry `conditions` of the summary; None for a run without conditions."""
    changes, conditions = setup.setting.device_changes, setup.setting.conditions
    if not changes and not conditions.compaction_errors and not conditions.snapshots:
        return None
    errors = sorted((e for d in databases for e in d.errors.records), key=lambda e: e.start_s)
    return {
        "changes": [{"at_s": c.at_s, "text": c.text} for c in changes],
        "failed_jobs": len(errors),
        "errors": [_error(e) for e in errors[:_MOST]],
        **_snapshots(conditions, databases),
    }


def _snapshots(conditions: Conditions, databases: Sequence[Database]) -> dict[str, Any]:
    """Return the snapshots that are taken, and the entries at the end that only they ask for; nothing without any."""
    if not conditions.snapshots:
        return {}
    files = [(family, file) for d in databases for family in d.families for file in family.files() if file.older is not None]
    return {
        "snapshots": [{"at_s": one.at, "until_s": one.until, "renew_s": one.renew} for one in conditions.snapshots],
        "old_entries": sum(family.content.entries(file.older.keys) for family, file in files if file.older is not None),
    }


def _snapshot_text(one: Mapping[str, Any]) -> str:
    text = f"from {one['at_s']:,g} s " + ("on" if one["until_s"] is None else f"to {one['until_s']:,g} s")
    return text if one["renew_s"] is None else f"{text}, a new one every {format_seconds(one['renew_s'])}"


def _error(error: ErrorRecord) -> dict[str, Any]:
    return {
        "start_s": error.start_s, "end_s": error.end_s, "failure": error.failure.value,
        "job": "flush" if error.flush else "compaction", "severity": error.severity.value,
    }  # fmt: skip


def condition_sentences(summary: Mapping[str, Any]) -> list[str]:
    """Return what changed during a run and what failed, in sentences; [] for a run without conditions."""
    facts = summary.get("conditions")
    if not facts:
        return []
    changes = [f"at {c['at_s']:,g} s {c['text']}" for c in facts["changes"]]
    found = [f"Conditions change: {'; '.join(changes)}."] if changes else []
    if snapshots := [_snapshot_text(one) for one in facts.get("snapshots", ())]:
        kept = f"at the end files hold {facts['old_entries']:,.0f} old versions for them"
        found.append(f"Snapshots are open {'; '.join(snapshots)}; {kept}.")
    if not facts["failed_jobs"]:
        return found
    first, jobs = facts["errors"][0], facts["failed_jobs"]
    reason = "the device was full" if first["failure"] == "no_space" else "I/O error"
    repeated = summary.get("discarded_bytes", 0)
    text = f"{jobs} job{'s' if jobs > 1 else ''} failed, the first at {first['start_s']:,.1f} s ({reason}, {first['job']})"
    found.append(f"{text}; {format_bytes(repeated)} were written in vain." if repeated else f"{text}.")
    stopped = [e for e in facts["errors"] if e["severity"] in ("hard", "fatal")]
    if stopped:
        found.append(_stop_sentence(stopped[0]))
    return found


def _stop_sentence(error: Mapping[str, Any]) -> str:
    begin = f"From {error['start_s']:,.1f} s the database accepted no write"
    if error["severity"] == "fatal":
        return f"{begin}: this release needs the database to be opened again."
    if error["end_s"] is None:
        return f"{begin} until the end of the run."
    return f"{begin}, for {format_seconds(error['end_s'] - error['start_s'])}, until space was free and memtables were flushed."
