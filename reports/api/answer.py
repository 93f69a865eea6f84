"""Answer to a question about a store, in a program or notebook."""

from __future__ import annotations

import html
import shutil
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lsmlab.comparison import differences_frame
from lsmlab.sim.results.rundir import make_directory
from lsmlab.sim.studies.differences import Difference
from lsmlab.sim.studies.document import Document

if TYPE_CHECKING:
    import pandas as pd
    from lsmlab.reports.conclusion import Conclusion
    from lsmlab.reports.study_kind import StudyKind

T = TypeVar("T", bound=Document)


class Answer(Generic[T]):
    """Answer of `whatif`, `advise`, `tune`, `plan`, `grow` or `sweep`."""

    def __init__(self, kind: StudyKind[Any, T], value: T, folder: Path) -> None:
        self.name = kind.name
        """Name of the function that gave it."""
        self.value = value
        """The answer with its types, such as a `WhatIfAnswer`."""
        self.folder = folder
        """Folder with the answer and the files of its runs."""
        self._kind = kind

    @cached_property
    def conclusion(self) -> Conclusion:
        """The answer in a sentence, why, what would change it, how sure it is, and the command that repeats it."""
        return self._kind.conclude(self.value)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The answer as a plain dictionary: the JSON document of the command."""
        return self._kind.content(self.value)

    @property
    def differences(self) -> pd.DataFrame:
        """Differences of all alternatives from the present state; columns as in `Comparison.differences`.

        Of a what-if, all alternatives; of an advice, the best changes; of a search, the best point. Else without rows.
        """
        return differences_frame(_differences(self.value))

    def save(self, folder: str | Path) -> Path:
        """Copy the answer and the files of its runs to a folder; return the folder."""
        target = make_directory(Path(folder))
        if target.resolve() != self.folder.resolve():
            shutil.copytree(self.folder, target, dirs_exist_ok=True)
        return target

    def report(self) -> Path:
        """Write the page of the answer, and those of its runs, into its folder; return the path of the first."""
        return self._kind.draw(self.value, self.folder)

    def __str__(self) -> str:
        """Return the answer as the command line prints it."""
        return self._kind.whole_text(self.value)

    def __repr__(self) -> str:
        return f"<lsmlab.Answer of {self.name}: {self.folder}>"

    def _repr_html_(self) -> str:
        """Return the answer as text, which notebooks show."""
        return f"<pre>{html.escape(str(self))}</pre>"


def _differences(answer: Document) -> Iterator[tuple[str, list[Difference]]]:
    """Yield the name and the differences of each alternative."""
    from lsmlab.sim.studies.advise import Advice
    from lsmlab.sim.studies.tune import Tuning
    from lsmlab.sim.studies.whatif import WhatIfAnswer

    if isinstance(answer, WhatIfAnswer | Advice):
        found = answer.alternatives if isinstance(answer, WhatIfAnswer) else answer.best
        yield from ((one.name, one.differences) for one in found)
    elif isinstance(answer, Tuning) and answer.verdict is not None:
        yield str(answer.best), answer.verdict.differences
