"""Formats the claims for the terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Final

from lsmlab.validation.papers.reproduce import Reproduction
from lsmlab.validation.papers.verdict import Found, counts

_WIDTH: Final = 120


def figure_text(value: float | str | None) -> str:
    """Return a figure with three digits, or a statement unchanged.

    >>> figure_text(4.2345), figure_text(194000.0), figure_text("RocksDB's stalls do not depend on it"), figure_text(None)
    ('4.23', '194,000', "RocksDB's stalls do not depend on it", '-')
    """
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "none" if math.isnan(value) else "unbounded"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def sentences(*parts: str | None) -> str:
    """Join the texts of a claim to sentences; skip empty ones.

    >>> sentences("Jobs are half as long", "", None, "See 6.5.")
    'Jobs are half as long. See 6.5.'
    """
    return " ".join(p if p.endswith((".", "!", "?")) else f"{p}." for p in parts if p)


def simulated_text(found: Found) -> str:
    """Return the simulated mean with its 90 % interval."""
    if found.low is None or found.high is None:
        return figure_text(found.simulated)
    return f"{figure_text(found.simulated)} [{figure_text(found.low)}, {figure_text(found.high)}]"


def accepted_text(found: Found) -> str:
    """Return the accepted range."""
    low, high = found.claim.accepted
    return f"{figure_text(low)} to {figure_text(high)}"


def verdict_counts(found: Sequence[Found]) -> str:
    """Return the counts of the verdicts by kind, such as "30 of kind number: 5 reproduced, 25 direction only"."""
    return "; ".join(
        f"{sum(own.values())} of kind {kind}: {', '.join(f'{n} {verdict}' for verdict, n in own.items())}"
        for kind, own in counts(found).items()
    )


def claims_text(found: Reproduction) -> str:
    """Return the text that `lsmlab papers` prints."""
    counted = f"{len(found.found)} claims: {verdict_counts(found.found)}"
    lines = [f"{counted}; {found.seeds} simulated runs of each setting, 90 % intervals over the seeds"]
    for paper in found.papers:
        lines += ["", f"{paper.name}: {paper.citation}", f"  {verdict_counts(found.of(paper))}"]
        for one in found.of(paper):
            lines += ["", *_claim_lines(one)]
    if found.released_runs:
        lines += ["", "released code on a throttled disk, and its simulation in the same setting"]
        lines += [
            f"  {r.setting:<18} {r.counterpart.figure:<52} recorded {figure_text(r.recorded):>7}"
            f"  simulated {figure_text(r.simulated):>7}"
            for r in found.released_runs
        ]
    return "\n".join(lines) + "\n"


def _claim_lines(one: Found) -> list[str]:
    claim = one.claim
    lines = [f"  {claim.id}: {claim.kind}, {one.verdict}"]
    lines += _wrapped(claim.setting)
    published = f"{figure_text(claim.published)} (accepted {accepted_text(one)})"
    lines += _wrapped(f"published {published}; simulated {simulated_text(one)}")
    lines += _wrapped(claim.mechanism)
    lines += _wrapped(claim.note) if claim.note else []
    lines += _wrapped(one.error) if one.error else []
    return lines


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
