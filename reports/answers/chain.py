"""Graphic of the costliest group of stalls: writers, what held up its time, and the longest job with its own waits."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, Final

from lsmlab.reports import numbers
from lsmlab.sim.explain.bottleneck import Bottleneck
from lsmlab.sim.explain.holder_sentences import LEAST_SHARE, parts_of
from lsmlab.sim.explain.sentences import CAUSE_WORDS, WAIT_WORDS, binding_cap, count

_MOST_HOLDERS: Final = 3
_LEAST: Final = 0.05
"""Share of a job's time from which the graphic shows a wait."""


def chain_graphic(group: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """Return the HTML list of the links from the writers to the root of their wait."""
    cause = CAUSE_WORDS.get(group["cause"], group["cause"])
    length_s = group["end_s"] - group["start_s"]
    lost = "operations lost: unknown" if group["lost_ops"] is None else f"{count(group['lost_ops'])} operations lost"
    links = [("Writers", f"{cause}, {numbers.seconds(length_s)}", lost)]
    if group["culprits"] and group["cause"] == Bottleneck.ERROR:
        first = group["culprits"][0]  # it ended the error, and did not cause it
        ended = f"after {numbers.seconds(length_s)}"
        links.append(("until the next job succeeded", f"{first['name']} (job {first['job']})", ended))
    else:
        links += _held(group, summary)
        if group["culprits"]:
            links += _job(group["culprits"][0], binding_cap(group.get("uses") or {}))
    items = "".join(
        f"<li><span>{html.escape(head)}</span><b>{html.escape(main)}</b><small>{html.escape(more)}</small></li>"
        for head, main, more in links
    )
    return f'<ol class="chain-of-blame">{items}</ol>'


def _held(group: Mapping[str, Any], summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what held up the largest parts of a group's time."""
    parts = [part for part in parts_of(group.get("waits_s") or {}, summary) if part.share >= LEAST_SHARE][:_MOST_HOLDERS]
    if not parts:
        return []
    first, *rest = parts
    more = [f"{numbers.percent(part.share)} {part.text} ({numbers.seconds(part.seconds)})" for part in rest]
    return [(f"{numbers.percent(first.share)} of this", first.text, "; ".join([numbers.seconds(first.seconds), *more]))]


def _job(delaying_job: Mapping[str, Any], cap: str) -> list[tuple[str, str, str]]:
    ran_s = delaying_job["end_s"] - delaying_job["start_s"]
    moved = delaying_job["read_bytes"] + delaying_job["write_bytes"]
    of = f" for {numbers.size(moved)}" if moved else ""
    name = f"{delaying_job['name']} (job {delaying_job['job']})"
    links = [("longest job in the chain", name, f"ran {numbers.seconds(ran_s)}{of}")]
    slot_s = delaying_job["waits_s"].get("slot", 0.0)
    waits = {name: s for name, s in delaying_job["waits_s"].items() if s >= _LEAST * (ran_s + slot_s)}
    if delaying_job["waits_s"] and not waits:
        links.append(("which waited for", "nothing", "it read, computed and wrote at full speed"))
    for name, wait_s in list(waits.items())[:1]:
        words = f"for {cap}" if cap and name == "device" else WAIT_WORDS[name]
        more = _sharing(delaying_job) if name == "device" else ""
        links.append(("which itself waited", f"{numbers.seconds(wait_s)} {words}", more))
    return links


def _sharing(delaying_job: Mapping[str, Any]) -> str:
    """Return who used the device while a job waited for it."""
    others = [f"{name} {numbers.percent(share)}" for name, share in delaying_job["device_shares"].items() if name != "itself"]
    own = delaying_job["device_shares"].get("itself")
    if not others or own is None:
        return "nobody shared it: the limit is its own speed" if own else ""
    return f"shared with {', '.join(others[:3])}; it had {numbers.percent(own)} of the bytes"
