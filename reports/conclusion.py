"""Conclusion: the one shape of all answers, in front of their details on the page, in the terminal and in JSON."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lsmlab.reports import numbers
from lsmlab.reports.parts import Html, answer_box, answer_boxes, paragraph, wrapped
from lsmlab.sim.studies.document import Document
from lsmlab.sim.studies.lengths import StoreState

_LABELS: Final = {"why": "why", "would_help": "would help", "how_sure": "how sure"}
_QUESTIONS: Final = {"why": "Why?", "would_help": "What would change it?", "how_sure": "How sure is that?"}


@dataclass(frozen=True)
class Conclusion(Document):
    """Five parts of every answer, each in sentences; text between backquotes is code."""

    answer: str
    """The answer in one sentence, with its interval."""
    more: Sequence[str] = ()
    """Further sentences of the answer, such as one for each alternative."""
    why: Sequence[str] = ()
    """Where the time went."""
    would_help: Sequence[str] = ()
    """What would change the answer."""
    how_sure: Sequence[str] = ()
    """Seeds, settled or not, the model's error, what is not simulated."""
    command: str = ""
    """Command that repeats the answer."""
    about: str = ""
    """What was simulated, if the question does not say so."""

    def with_about(self, sentence: str) -> Conclusion:
        """Return the conclusion with a further sentence on what was simulated."""
        return replace(self, about=" ".join(filter(None, (self.about, sentence)))) if sentence else self

    def html(self) -> Html:
        """Return the boxes of the answer as HTML."""
        about = paragraph(self.about, "caption") if self.about else ""
        repeat = f'<p class="caption">Repeat: <code>{html.escape(self.command)}</code></p>' if self.command else ""
        boxes = [answer_box("answer", "Answer", self.answer, self.more, repeat, about)]
        boxes += [
            answer_box(name, question, "", sentences)
            for name, question in _QUESTIONS.items()
            if (sentences := getattr(self, name))
        ]
        return answer_boxes(boxes)

    def lines(self) -> list[str]:
        """Return the answer as lines of text."""
        lines = wrapped("", self.about) if self.about else []
        lines += wrapped("answer          ", _plain(" ".join((self.answer, *self.more))))
        for name, label in _LABELS.items():
            if sentences := getattr(self, name):
                lines += wrapped(f"{label:<16}", _plain(" ".join(sentences)))
        return lines + (wrapped("repeat          ", self.command) if self.command else [])


def states_sentence(states: Mapping[str, StoreState]) -> str:
    """Return whether the numbers are those of the long run, from the state of each configuration by name.

    >>> from dataclasses import replace
    >>> state = StoreState(600.0, None, "no bottleneck", "")
    >>> states_sentence({"present state": state})
    'All stores had settled within 600 s.'
    >>> states_sentence({"sata": replace(state, known=False)})
    'Whether sata had settled within 600 s is unknown.'
    >>> states_sentence({"sata": replace(state, unsettled="L0 grows by 2.0 % of the flushed files")})
    'These are numbers of 600 s, not of the long run: sata had not settled (L0 grows by 2.0 %...'
    """
    length = numbers.duration(max((one.duration_s for one in states.values()), default=0.0))
    doubts = [f"{name} had not settled ({one.unsettled})" for name, one in states.items() if one.unsettled is not None]
    if not doubts and (unknown := [name for name, one in states.items() if not one.known]):
        return f"Whether {', '.join(unknown)} had settled within {length} is unknown."
    if not doubts:
        return f"All stores had settled within {length}."
    text = f"These are numbers of {length}, not of the long run: {'; '.join(doubts)}."
    return f"{text} `--settled` lengthens the runs until they have, up to eightfold."


def over(states: Iterable[StoreState]) -> str:
    """Return the beginning of an answer from runs whose stores had not settled; "" if all had.

    >>> over([StoreState(60.0, "L0 grows by 2.0 % of the flushed files", "", "")])
    'Over these 60 s, not settled: '
    """
    doubtful = [one.duration_s for one in states if one.unsettled is not None]
    return f"Over these {numbers.duration(max(doubtful))}, not settled: " if doubtful else ""


def doubt_of(state: StoreState | None) -> str:
    """Return what a configuration's numbers lack, for a place behind them; "" if nothing is known to be missing."""
    if state is None:
        return ""
    words = ("cannot keep up" if state.overload else "", "not settled" if state.unsettled is not None else "")
    return ", ".join(filter(None, words))


def begun(states: Iterable[StoreState], sentence: str) -> str:
    """Return the answer's first sentence, after the doubt of runs whose stores had not settled."""
    doubt = over(states)
    return f"{doubt}{sentence[:1].lower()}{sentence[1:]}" if doubt else sentence


def bottleneck_sentence(text: str) -> str:
    """Return the bottleneck of a run as a sentence."""
    return f"{text.rstrip('.')}." if text else ""


def sure_of_differences(seeds: int) -> str:
    """Return what the intervals of differences contain."""
    several = "One seed" if seeds == 1 else f"{seeds} seeds"
    return f"{several} each; the 90 % intervals are those of the change of the real store: they contain the model's own error."


def open_loop_sentences(metrics: Iterable[str]) -> list[str]:
    """Return what an open-loop latency is, if `metrics` have one."""
    if not any(name.startswith("open_loop") for name in metrics):
        return []
    return [
        "Clients wait for the store. So latencies are those of an open loop at each store's own mean rate: the clients' own are "
        "smallest in a store that stands still."
    ]


def _plain(text: str) -> str:
    return text.replace("`", "")
