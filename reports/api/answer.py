"""Answer of a command about decisions, in a program or notebook."""

from __future__ import annotations

import html
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsmlab.comparison import differences_frame
from lsmlab.sim.results.rundir import make_directory

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Kind:
    """Command that gives answers."""

    verb: Callable[[list[str]], int]
    file: str
    """File with the answer in the folder of the results."""
    text: Callable[[dict[str, Any]], str]
    """Returns an answer as the command line prints it."""
    draw: Callable[[Path], Path]
    """Writes the page of the folder of results."""


class Answer:
    """Answer of `whatif`, `advise`, `tune`, `plan` or `sweep`."""

    def __init__(self, name: str, kind: Kind, folder: Path, summary: Mapping[str, Any]) -> None:
        self.name = name
        """Name of the command."""
        self.folder = folder
        """Folder with the answer and the files of its runs."""
        self.summary = dict(summary)
        """The answer as a plain dictionary: the JSON document of the command."""
        self._kind = kind

    @property
    def differences(self) -> pd.DataFrame:
        """Differences of all alternatives from the present state; columns as in `Comparison.differences`.

        Of a what-if, all alternatives; of an advice, the best changes; of a search, the best point. Else without rows.
        """
        verdict = self.summary.get("verdict") or {}
        found = [*self.summary.get("alternatives", ()), *(b for b in self.summary.get("best") or () if isinstance(b, dict))]
        pairs = [(entry["name"], entry["differences"]) for entry in found if "differences" in entry]
        if "differences" in verdict:
            pairs.append((str(self.summary["best"]), verdict["differences"]))
        return differences_frame(pairs)

    def save(self, folder: str | Path) -> Path:
        """Copy the answer and the files of its runs to a folder; return the folder."""
        target = make_directory(Path(folder))
        if target.resolve() != self.folder.resolve():
            shutil.copytree(self.folder, target, dirs_exist_ok=True)
        return target

    def report(self) -> Path:
        """Write the page of the answer, and those of its runs, into its folder; return the path of the first."""
        return self._kind.draw(self.folder)

    def __str__(self) -> str:
        """Return the answer as the command line prints it."""
        return self._kind.text(self.summary)

    def __repr__(self) -> str:
        return f"<lsmlab.Answer of {self.name}: {self.folder}>"

    def _repr_html_(self) -> str:
        """Return the answer as text, which notebooks show."""
        return f"<pre>{html.escape(str(self))}</pre>"
