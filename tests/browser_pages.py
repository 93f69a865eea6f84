"""Pages in a browser: opened with all their charts, watched for errors and requests, and checked by axe-core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def opened(
    browser: Any, path: Path, *, width: int = 1280, scheme: str = "light", address: str = "", script: str = "",
    files: Path | None = None,
) -> tuple[Any, list[str]]:  # fmt: skip
    """Open a page and wait until it is ready; return it with the list of its errors and requests, which goes on growing.

    `script` runs before the page's own ones. `files`: a folder whose files the page may load; otherwise it loads none.
    """
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    troubles: list[str] = []
    own = ((files or path).as_uri(), "data:", "blob:")
    page.on("console", lambda message: troubles.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("request", lambda request: troubles.extend([request.url] * (not request.url.startswith(own))))
    page.add_init_script(script)
    page.goto(path.as_uri() + address)
    page.wait_for_selector("html[data-ready]", state="attached")
    return page, troubles


def serious(page: Any) -> list[str]:
    """Return what axe-core calls serious or critical on a page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="make test-browser installs axe").Axe()
    found = axe.run(page).response
    assert len(found["passes"]) > 10
    return [
        f"{one['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for one in found["violations"] if one["impact"] in ("serious", "critical") for node in one["nodes"]
    ]  # fmt: skip
