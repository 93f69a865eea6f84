"""Kinds of questions about stores: how each is asked, told in a terminal and drawn as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

from lsmlab.reports.conclusion import Conclusion
from lsmlab.reports.page import Page
from lsmlab.reports.run_data import PAGE
from lsmlab.sim.results.jsontext import write_json
from lsmlab.sim.runs.batch import Settings
from lsmlab.sim.runs.estimate import CostEstimate
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.request import Request

R = TypeVar("R", bound=Request)
A = TypeVar("A", bound=Document)


@dataclass(frozen=True)
class StudyKind(Generic[R, A]):
    """Kind of question."""

    name: str
    """Name of the verb and of the function of `lsmlab`."""
    file: str
    """File with the answer in the folder of the results."""
    request: type[R]
    ask: Callable[[R, Settings, Path], A]
    """Returns the answer; its runs may put files into the folder."""
    cost: Callable[[R, Settings], CostEstimate]
    """Returns the estimated cost of the runs."""
    conclude: Callable[[A], Conclusion]
    """Returns the conclusion, with which text and page begin and which JSON has too."""
    text: Callable[[A], str]
    """Returns the details of the answer as text for the terminal."""
    page: Callable[[A, Path], Page]
    """Returns the page of the details, whose files are in the folder."""
    smaller: str
    """What makes the work smaller, such as "fewer candidates"."""
    example: str
    """Example of a command line, after "example: "."""
    runs: Callable[[A, Path], Iterable[Path]] = lambda _answer, _folder: ()
    """Returns the folders of runs that get pages of their own, before the page of the answer is drawn."""
    ends_at_budget: bool = False
    """Whether a budget ends the work with the best answer so far, instead of refusing work that would take longer."""
    is_empty: Callable[[A], bool] = lambda _: False
    """Whether an answer says nothing, because no run was possible."""

    def answer(self, request: R, runs: Settings, folder: Path) -> A:
        """Return the answer to a request, and write it to its file in `folder`.

        Raises InputError for a request that is not possible, RunsInterruptedError after Ctrl-C.
        """
        found = self.ask(request, runs, folder)
        write_json(folder / self.file, self.content(found))
        return found

    def read(self, folder: Path) -> A:
        """Return the answer that `folder` holds. Raises InputError if its file is missing or damaged."""
        document: type[A] = get_type_hints(self.ask)["return"]
        return document.read(folder / self.file)

    def content(self, answer: A) -> dict[str, Any]:
        """Return an answer as plain values for JSON, with its conclusion first."""
        return {"conclusion": self.conclude(answer).as_dict(), **answer.as_dict()}

    def whole_text(self, answer: A, about: str = "") -> str:
        """Return an answer as text for the terminal: what it is `about`, its conclusion, then the details."""
        lines = "\n".join(self.conclude(answer).with_about(about).lines())
        return f"{lines}\n\n{self.text(answer)}"

    def draw(self, answer: A, folder: Path, about: str = "") -> Path:
        """Write the page of an answer into its folder, and those of its runs; return the path of the first."""
        from lsmlab.reports.run_page import draw_runs

        draw_runs(self.runs(answer, folder))
        page = self.page(answer, folder)
        return replace(page, parts=[self.conclude(answer).with_about(about), *page.parts]).write(folder / PAGE)
