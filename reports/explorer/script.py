"""Script of the explorer: the modules of the folder web, joined into one script that a browser runs without a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

MODULES: Final = (
    "unpack", "format", "model", "view", "paint", "panel", "overview", "memory", "tree", "gantt", "details", "plots", "controls",
    "main",
)  # fmt: skip
"""Modules from the bottom up: each may import earlier ones. Their top-level names are all different."""
_WEB: Final = Path(__file__).parent / "web"
_IMPORT: Final = re.compile(r"^import \{[^}]*\} from \"\./\w+\.js\";\n", re.MULTILINE)


def explorer_script() -> str:
    """Return the modules as one script; imports and exports between them go, because they share one scope."""
    texts = [_IMPORT.sub("", (_WEB / f"{name}.js").read_text(encoding="utf-8")) for name in MODULES]
    body = "\n".join(re.sub(r"^export ", "", text, flags=re.MULTILINE) for text in texts)
    return f'"use strict";\n(() => {{\n{body}\n}})();\n'


def explorer_style() -> str:
    """Return the style of the explorer."""
    return (_WEB / "explorer.css").read_text(encoding="utf-8")
