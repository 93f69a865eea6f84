"""The source tree that the package lies in: recorded cases, documents, and the shared data beside it.

A wheel carries the programs, not the recordings (docs/decisions/0017). Whatever needs the source tree asks
`source_tree_or_error` before it starts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lsmlab.models.errors import InputError

HOME: Final = Path(__file__).resolve().parents[1]
"""The source tree; in an installed package, the folder `lsmlab` of site-packages."""
OWN_CASES: Final = HOME / "validation" / "cases"
RECORDINGS: Final = HOME / "validation" / "recordings"
PUBLIC_DATA: Final = HOME.parent / "shared" / "data" / "public_runs"
ENGINE_DATA: Final = HOME.parent / "shared" / "data" / "real_engines"


def source_tree_or_error(what: str, instead: str) -> None:
    """Do nothing in a source tree; raise InputError that says what needs one, how to get it and what to do `instead`."""
    if not (HOME / "pyproject.toml").is_file():
        raise InputError(
            f"{what}, which the installed package does not carry: run lsmlab from a checkout of LSMLab "
            f"('make demo' there installs it in .venv), or {instead}"
        )
