"""Benchmark of the largest page of a run in Chromium: size, time to open and to draw all charts, time per frame after that.

"Open": the first screen is complete, and all buttons and keys work.

usage: make test-browser (once, to install Playwright); python benchmarks/page.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from lsmlab.reports.folder_page import draw_run
from playwright.sync_api import sync_playwright
from report_fixture import write_run

JOBS, FILES, SECONDS, STALLS = 100_000, 10_000, 3600, 2000
LIMITS = {"size_mb": 8.0, "open_s": 2.0, "frame_ms": 100.0}
"""Numbers of the synthetic run."""
KEYS = ("ArrowRight", "ArrowRight", "ArrowLeft", "+", "+", "+", "PageDown", "PageUp", "-", "-", "]", "]", "[", "0")


DRAWN = "[...document.querySelectorAll('canvas')].map((canvas) => [canvas.id, Number(canvas.dataset.frame || 0)])"


def task_s(session: Any) -> float:
    """Return the CPU time of the page's main thread so far in s."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def write_events(directory: Path) -> None:
    """Write events.parquet: a tree of `FILES` files, of which each compaction of jobs.parquet replaces some by others."""
    random = np.random.default_rng(1)
    jobs = pq.read_table(directory / "jobs.parquet", columns=["job", "end_s", "kind"]).to_pydict()
    levels = np.repeat([1, 2, 3], [FILES // 100, FILES // 10, FILES - FILES // 100 - FILES // 10])
    place = np.concatenate([np.linspace(0, 1, n, endpoint=False) for n in np.bincount(levels)[1:]])
    width = 1 / np.bincount(levels)[levels]
    rows = [(0.0, -1, "create", i + 1, -1, level, low, low + w) for i, (level, low, w) in
            enumerate(zip(levels.tolist(), place.tolist(), width.tolist(), strict=True))]  # fmt: skip
    alive, number = {row[3]: row for row in rows}, FILES
    compactions = [i for i, kind in enumerate(jobs["kind"]) if kind == "compaction"]
    for i in sorted(random.choice(compactions, 5000, replace=False).tolist(), key=lambda i: jobs["end_s"][i]):
        for file in random.choice(list(alive), 4, replace=False).tolist():
            level, low, high = alive.pop(file)[5:]
            number += 1
            end = jobs["end_s"][i], jobs["job"][i]
            rows += [(*end, "delete", file, level, -1, 0.0, 0.0), (*end, "create", number, -1, level, low, high)]
            alive[number] = rows[-1]
    names = ("time_s", "job", "kind", "file", "from_level", "to_level", "smallest", "largest")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    same = {"shard": 0, "bytes": 64 << 20, "entries": 100_000, "linked_to": -1}
    meta = pq.read_schema(directory / "jobs.parquet").metadata
    table = pa.table({**columns, **{name: [value] * len(rows) for name, value in same.items()}})
    pq.write_table(table.replace_schema_metadata(meta), directory / "events.parquet")


def measure(page_path: Path) -> dict[str, float]:
    """Return the times in s until a page opens and until all its charts are drawn (also as CPU time).

    Also the longest drawing and the longest blocked frame after that in ms.
    """
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        began = time.perf_counter()
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(page_path.as_uri())
        page.wait_for_selector("html[data-drawn='true']", state="attached")
        drawn_s, drawn_cpu_s = time.perf_counter() - began, task_s(session)
        open_s = page.evaluate("performance.getEntriesByName('ready')[0].startTime") / 1000
        page.wait_for_timeout(1500)
        page.evaluate("""window.blocked = [0]; new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) window.blocked.push(entry.duration);
        }).observe({ type: "longtask" });""")
        frames: dict[str, float] = {}
        page.evaluate("document.getElementById('tree').scrollIntoView()")
        page.locator("#tree-canvas").focus()
        for key in KEYS:
            page.keyboard.press(key)
            page.wait_for_timeout(400)
            for name, ms in page.evaluate(DRAWN):
                frames[name] = max(frames.get(name, 0.0), ms)
        blocked = page.evaluate("Math.max(...window.blocked)")
        browser.close()
    print({name: f"{ms:.0f} ms" for name, ms in frames.items()})
    return {
        "open_s": open_s, "drawn_s": drawn_s, "drawn_cpu_s": drawn_cpu_s,
        "frame_ms": max(frames.values()), "blocked_ms": blocked,
    }  # fmt: skip


def main() -> int:
    """Print size and times; return 1 if one is above its limit."""
    with tempfile.TemporaryDirectory() as folder:
        directory = write_run(Path(folder) / "run", seconds=SECONDS, stalls=STALLS, jobs=JOBS)
        write_events(directory)
        began = time.process_time()
        path = draw_run(directory)
        assert path is not None
        found = {"draw_cpu_s": time.process_time() - began, "size_mb": path.stat().st_size / 1e6, **measure(path)}
    for name, value in found.items():
        limit = f" (limit {LIMITS[name]:g})" if name in LIMITS else ""
        print(f"{name:12} {value:8.2f}{limit}")
    return int(any(found[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
