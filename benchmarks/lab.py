"""Measure the laboratory in Chromium: time from the release of a slider to new curves on the screen.

Usage: python benchmarks/lab.py [MOVES]; needs `make test-browser` once, and Chromium on the PATH. A curve counts as drawn
when Plotly has painted both figures (plotly_afterplot). Prints the median, the 90th percentile and the longest time of
MOVES releases (default 20) for three stores.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

from playwright.sync_api import Page, sync_playwright

STORES = {
    "README's store, 60 s": {},
    "small memtables, vLSM, 60 s": {"entry-engine": "vlsm"},
    "one hour": {"workload.duration": "1h"},
}
"""Entries and values that differ from those at the start."""
ARM = """() => {
  window.measured = null;
  const graphs = [...document.querySelectorAll(".js-plotly-plot")];
  document.addEventListener("keyup", () => {
    const began = performance.now();
    let left = graphs.length;
    const drawn = () => { if (--left === 0) window.measured = performance.now() - began; };
    for (const graph of graphs) graph.once("plotly_afterplot", drawn);
  }, { once: true, capture: true });
}"""


def main() -> None:
    """Measure all stores."""
    moves = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "lsmlab", "lab", "--no-open", "--out", folder]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        try:
            with sync_playwright() as playwright:
                chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
                for name, changes in STORES.items():
                    page = opened(chromium.new_page(viewport={"width": 1280, "height": 900}), address)
                    times_ms = sorted(measured(page, changes, moves))
                    median, p90 = statistics.median(times_ms), times_ms[int(0.9 * (len(times_ms) - 1))]
                    print(f"{name}: median {median:.0f} ms, P90 {p90:.0f} ms, longest {times_ms[-1]:.0f} ms of {moves}")
                    page.close()
                chromium.close()
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def opened(page: Page, address: str) -> Page:
    """Open the laboratory and wait for its first curves."""
    page.goto(address)
    page.wait_for_selector("html[data-drawn]", state="attached", timeout=60_000)
    page.wait_for_timeout(1500)
    return page


def measured(page: Page, changes: dict[str, str], moves: int) -> list[float]:
    """Return the times in ms of a number of moves of a slider."""
    for key, text in changes.items():
        if key.startswith("entry-"):
            page.click(f"#{key}")
            page.locator(".dash-dropdown-search").first.fill(text)
            page.locator(".dash-dropdown-option").first.click()
        else:
            control = page.locator(f".field[data-key='{key}'] input:not([type=range])")
            control.fill(text)
            control.press("Enter")
        page.wait_for_timeout(3000)
    slider = page.locator(".field[data-key='engine.options.max_background_jobs'] input[type=range]")
    slider.focus()
    times_ms = []
    for move in range(moves):
        page.evaluate(ARM)
        page.keyboard.press("ArrowRight" if move % 10 < 5 else "ArrowLeft")
        while page.evaluate("window.measured") is None:
            page.wait_for_timeout(20)
        times_ms.append(float(page.evaluate("window.measured")))
        page.wait_for_timeout(200)
    return times_ms


if __name__ == "__main__":
    main()
