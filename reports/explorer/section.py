"""HTML of the explorer: time bar, tree, jobs, the figures over time between them, and the script of the folder web."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lsmlab.reports.explorer.data import explorer_data
from lsmlab.reports.explorer.packing import pack
from lsmlab.reports.figures.base import Figure
from lsmlab.reports.parts import Html, Part
from lsmlab.reports.run_data import RunData
from lsmlab.reports.timeline import Timeline

SPEEDS = (0.01, 0.1, 1, 10, 60)
"""Simulated seconds per second of the reader."""
KEYS = (
    ("Space", "play or pause"), ("← →", "previous, next event"), ("+ -", "zoom in, out"), ("PageUp PageDown", "move the range"),
    ("0", "whole run"), ("[ ]", "costlier, next stall"), ("Home End", "start, end of the run"), ("Esc", "clear the choice"),
)  # fmt: skip
"""Keys on a chart, and what they do."""

MODULES: Final = (
    "unpack", "format", "model", "view", "paint", "panel", "overview", "memory", "blobs", "tree", "gantt", "details", "plots",
    "controls", "main",
)  # fmt: skip
"""Modules from the bottom up: each may import earlier ones. Their top-level names are all different."""
_BLOBS: Final = (
    " The last row has the blob files, the oldest at the left, with the garbage that RocksDB counts: values whose reference a "
    "compaction has dropped. The line ends the oldest ones, whose values compactions move to new files."
)
_WEB: Final = Path(__file__).parent / "web"
_IMPORT: Final = re.compile(r"^import \{[^}]*\} from \"\./\w+\.js\";\n", re.MULTILINE)


def explorer_parts(
    run: RunData, timeline: Timeline, figures: Sequence[Figure], time_label: str
) -> tuple[list[Part], str]:
    """Return the parts of the explorer, and the HTML of its data, style and script at the end of the page.

    `figures`: the figures over time, the throughput first.
    """
    data, imported = explorer_data(run, timeline), "import" in run.summary
    first, *others = figures
    above = Html(
        f'<div id="explorer" data-time="{html.escape(time_label)}"><section id="explore"><h2>Explorer</h2>'
        '<p class="caption">All charts below share one time line, one instant and one choice. Click into a chart to choose an '
        "instant, a stall or a job; drag over it to zoom; double-click to see the whole run. The address of the page keeps the "
        f"view, so a link to it shows the same.</p>{_keys()}</section>{_bar(data)}"
        f'{_tree(data, imported)}'
        '<section id="choice"><h2>The choice</h2><div id="details" aria-live="polite"></div></section>'
    )
    below = Html('</div><div id="tooltip" role="tooltip" hidden></div>')
    end = (
        f'<style>{explorer_style()}</style><script type="application/octet-stream" id="run-data">{pack(data)}</script>'
        f"<script>{explorer_script()}</script>"
    )
    return [above, first, Html(_jobs(data, imported)), *others, below], end


def explorer_script() -> str:
    """Return the modules as one script; imports and exports between them go, because they share one scope."""
    texts = [_IMPORT.sub("", (_WEB / f"{name}.js").read_text(encoding="utf-8")) for name in MODULES]
    body = "\n".join(re.sub(r"^export ", "", text, flags=re.MULTILINE) for text in texts)
    return f'"use strict";\n(() => {{\n{body}\n}})();\n'


def explorer_style() -> str:
    """Return the style of the explorer."""
    return (_WEB / "explorer.css").read_text(encoding="utf-8")


def _keys() -> str:
    rows = "".join(f"<li><kbd>{html.escape(keys)}</kbd> {text}</li>" for keys, text in KEYS)
    return f"<details><summary>Keys on a chart</summary><ul class='legend'>{rows}</ul></details>"


def _bar(data: Mapping[str, Any]) -> str:
    """Return the bar that stays at the top: buttons, instant, list of stalls, strip over the whole run."""
    speeds = "".join(f'<option value="{s:g}"{" selected" if s == 1 else ""}>{s:g} s per s</option>' for s in SPEEDS)
    return (
        '<div id="time-bar"><div class="buttons">'
        '<button id="step-back" type="button" title="previous event (←)" aria-label="previous event">◀ Event</button>'
        '<button id="play" type="button" aria-pressed="false">▶ Play</button>'
        '<button id="step-on" type="button" title="next event (→)" aria-label="next event">Event ▶</button>'
        f'<label>Speed <select id="speed">{speeds}</select></label>'
        '<label>At <input id="instant" type="number" min="0" step="any" inputmode="decimal" value="0"> s</label>'
        f"{_stalls(data)}"
        '<button id="whole" type="button" title="whole run (0)">Whole run</button></div>'
        '<div class="chart"><canvas id="overview" tabindex="0" data-keys role="img" aria-label="Strip over the whole run: '
        'operations per second, write stalls below, and the time range that the charts show"></canvas></div>'
        '<p class="reading"><span id="shown"></span><span id="happens" aria-live="polite"></span></p></div>'
    )


def _stalls(data: Mapping[str, Any]) -> str:
    listed = data["stalls"]["listed"]
    if not listed:
        return ""
    options = "".join(f'<option value="{one["row"]}">{html.escape(one["label"])}</option>' for one in listed)
    return (
        '<span class="stalls"><button id="previous" type="button" title="costlier stall ([)" aria-label="costlier stall">◀'
        '</button><label class="hidden" for="stall">Stall</label><select id="stall">'
        f'<option value="-1">Stalls by cost: whole run</option>{options}</select>'
        '<button id="next" type="button" title="next stall (])" aria-label="next stall">▶</button></span>'
    )


def _tree(data: Mapping[str, Any], imported: bool) -> str:
    tree = data["tree"]
    if tree is None:
        empty = (
            "A LOG does not have the key ranges of files, so the tree cannot be drawn."
            if imported
            else "The run has no events.parquet, so the files of the tree over time are unknown."
        )
        return f'<section id="tree"><h2>The tree at the chosen instant</h2><p class="empty">{empty}</p></section>'
    choice = ""
    if len(tree["names"]) > 1:
        options = "".join(f'<option value="{i}">{html.escape(name)}</option>' for i, name in enumerate(tree["names"]))
        choice = f'<label class="choice">Tree of <select id="tree-choice">{options}</select></label>'
    thinned = "" if tree["shown"] is None else (
        f" The run has {len(tree['edits']['time_s']):,} version edits; the page shows the tree after {len(tree['shown']):,} of "
        "them, evenly spread. events.parquet holds all."
    )  # fmt: skip
    caption = (
        "Each box is a file over its key range; L0 has its newest file on top. The bar beside a level shows its size against its "
        "target at that time, that of L0 its files against the triggers for compaction, slowdown and stop. "
        f"{data['engine_note']}{_BLOBS if 3 in tree['stays']['kind'] else ''}{thinned} Click a file to see its compaction."
    )
    return (
        f'<section id="tree"><h2>The tree at the chosen instant</h2><p class="caption">{html.escape(caption)}</p>{choice}'
        f'{_legend(data)}<div class="chart"><canvas id="tree-canvas" tabindex="0" data-keys role="img" '
        'aria-label="The LSM tree at the chosen instant" aria-describedby="tree-words"></canvas></div>'
        '<p id="tree-words" class="reading"></p></section>'
    )


def _legend(data: Mapping[str, Any]) -> str:
    kinds = set(data["tree"]["stays"]["kind"].tolist())
    marks = [("plain", "file"), ("busy", "input of a running compaction"), ("in", "input of the choice"), ("out", "output of it")]
    marks += [("frozen", "frozen file")] if 1 in kinds else []
    marks += [("slice", "linked slice")] if 2 in kinds else []
    marks += [("blob", "blob file, its garbage dark")] if 3 in kinds else []
    return '<ul class="legend">' + "".join(f'<li><i class="{name}"></i>{text}</li>' for name, text in marks) + "</ul>"


def _jobs(data: Mapping[str, Any], imported: bool) -> str:
    jobs = data["jobs"]
    title = "<h2>Background jobs by thread</h2>"
    if not jobs["count"]:
        empty = "The input does not show single jobs." if imported else "No background job ran."
        return f'<section id="jobs">{title}<p class="empty">{empty}</p></section>'
    left_out = "" if jobs["count"] == jobs["total"] else (
        f" The chart shows {jobs['count']:,} of {jobs['total']:,} jobs: those behind the costliest stalls, then the longest "
        "ones. jobs.parquet contains all."
    )  # fmt: skip
    unfinished = jobs["columns"].get("unfinished")
    hatched = " Hatched bars were unfinished at the end of the run." if unfinished is not None and unfinished.any() else ""
    caption = (
        "Each bar is a job, each row a background thread; bands are write stalls. Framed bars are the jobs that had to end "
        "before the chosen stall could end. Click a bar to see why it was picked, or a band to choose the stall."
        f"{hatched}{left_out}"
    )
    keys = "".join(
        f'<li><i style="background:{group["color"]}"></i>{html.escape(group["name"])}</li>' for group in jobs["groups"]
    )
    return (
        f'<section id="jobs">{title}<p class="caption">{caption}</p><ul class="legend">{keys}</ul>'
        '<div class="chart"><canvas id="jobs-canvas" tabindex="0" data-keys role="img" aria-label="Background jobs by thread '
        'over time"></canvas><div class="band" hidden></div></div></section>'
    )
