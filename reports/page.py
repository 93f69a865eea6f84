"""Page: one HTML file of parts, which needs no network."""

from __future__ import annotations

import html
import importlib.util
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from lsmlab.models.errors import InputError
from lsmlab.reports.explorer.packing import compressed
from lsmlab.reports.figures.base import figures_json
from lsmlab.reports.parts import Html, Part, figures_in, joined
from lsmlab.reports.run_data import PAGE
from lsmlab.sim.results.leftovers import replacing

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Page:
    """Page with a title and parts."""

    title: str
    subtitle: str
    parts: Sequence[Part]
    footer: str = ""
    """What made the page, such as the command and its seeds."""
    end: str = ""
    """HTML after the page's own script."""

    def html(self) -> str:
        """Return one self-contained HTML file with style, script, data and Plotly."""
        values = {
            "title": html.escape(self.title),
            "heading": html.escape(self.title).replace("_", "_<wbr>"),
            "subtitle": html.escape(self.subtitle),
            "css": _asset("page.css"),
            "body": joined(self.parts),
            "footer": html.escape(f"{f'{self.footer}. ' if self.footer else ''}This file needs no network."),
            "figures": figures_json(figures_in(self.parts)),
            "plotly": _packed_plotly(),
            "script": _asset("page.js"),
            "end": self.end,
        }
        return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match.group(1)], _asset("page.html"))

    def write(self, path: Path) -> Path:
        """Write the page and return its path. Raises InputError if `path` cannot be written."""
        return write_page(path, self.html())


def page_link(folder: Path, name: str, home: Path) -> Html | None:
    """Return a link to the page of the run in `folder`, relative to the folder `home`; None if the run has no page."""
    page = folder / PAGE
    if not page.is_file():
        return None
    target = quote(Path(os.path.relpath(page, home)).as_posix())
    return Html(f'<a href="{html.escape(target)}">{html.escape(name)}</a>')


def write_page(path: Path, text: str) -> Path:
    """Write a page in one atomic step. Raises InputError if `path` cannot be written."""
    try:
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot write the report ({error.strerror}); choose another place with --out") from None
    return path


def plotly_script() -> str:
    """Return plotly.min.js from the package plotly, without importing the package."""
    spec = importlib.util.find_spec("plotly")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "package_data" / "plotly.min.js"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise InputError("report: plotly.min.js was not found; install the package plotly (6.0 or later)")


@cache
def _packed_plotly() -> str:
    """Return plotly.min.js as page.js reads it: compressed, 1.9 instead of 4.8 MB."""
    return compressed(plotly_script().encode())


def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
