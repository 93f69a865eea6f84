"""Hook of MkDocs for `make docs`: pages that other programs write, the reference of the Python package, formulas."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any, Final

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

_ROOT: Final = Path(__file__).parents[2]
_BUILT: Final = {"course": _ROOT / "build" / "course", "examples": _ROOT / "build" / "examples"}
"""Folders of pages that `make docs` builds first, by their place in the site."""
_KINDS: Final = (".html", ".js", ".ipynb")
_REFERENCE: Final = """# Python package

Every public function and class of `lsmlab`, from their docstrings. A page with examples:
[programs and notebooks](../how-to/notebooks.md).

::: lsmlab
"""
_FORMULA: Final = re.compile(r"<(span|div) class=\"arithmatex\">\\[\[(](.*?)\\[\])]</\1>", re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the built pages and the reference. A folder that was not built leaves links without a target: a warning."""
    for place, folder in _BUILT.items():
        for path in sorted(p for p in folder.rglob("*") if p.suffix in _KINDS):
            name = f"{place}/{path.relative_to(folder).as_posix()}"
            files.append(File.generated(config, name, abs_src_path=str(path)))
    files.append(File.generated(config, "reference/python.md", content=_REFERENCE))
    return files


def on_page_content(content: str, **_: Any) -> str:
    """Write formulas as MathML, which browsers draw without a script."""
    return _FORMULA.sub(_mathml, content)


def _mathml(formula: re.Match[str]) -> str:
    return convert(html.unescape(formula[2]), display="block" if formula[1] == "div" else "inline")


def on_post_page(output: str, **_: Any) -> str:
    """Give the dialog of the search its name, which the theme lacks."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)
