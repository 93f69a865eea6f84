"""What lessons call: predict, reveal, explain, and the figures of a prediction beside its answer.

In a notebook a guess is an argument; on a page the student types it in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.course.expressions import FORMATS, filled
from lsmlab.reports.course.pictures import ShownFigure
from lsmlab.reports.course.textbook import FORMULAS
from lsmlab.reports.figures.base import Figure, Trace
from lsmlab.reports.palette import RUNS

QUESTION: Final = "application/vnd.lsmlab.question+json"
ANSWER: Final = "application/vnd.lsmlab.answer+json"
"""Types of questions and answers for a page."""
_LETTERS: Final = "abcdefgh"
_GUESS: Final = "your guess"
_SIMULATED: Final = "simulated"
Guess = float | int | str | Sequence[float]
"""A number in the unit of the question, the letter of a choice, or one number for each point of a curve."""


@dataclass(frozen=True)
class Question:
    """One question of a lesson: a number; one of `choices`; or a curve, one number for each of `points`."""

    key: str
    text: str
    unit: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Texts of the choices by letter."""
    points: tuple[float, ...] = ()
    """Values of the x axis at which a curve is asked for."""
    axis: str = ""
    """Title of the x axis of a curve."""
    logarithmic: bool = False
    """Whether the answer is drawn on a logarithmic axis."""

    def checked(self, guess: Guess) -> Guess:
        """Return the guess. Raises InputError, which says what a guess for this question is."""
        if self.choices:
            letter = str(guess).strip().lower()
            if letter not in self.choices:
                raise InputError(f"{self.key}: guess={guess!r}: choose one of {', '.join(self.choices)}")
            return letter
        several = list(guess) if isinstance(guess, Sequence) and not isinstance(guess, str) else [guess]
        wanted = max(1, len(self.points))
        if len(several) != wanted or any(isinstance(v, bool) or not isinstance(v, int | float) for v in several):
            kind = f"a list of {wanted} numbers" if self.points else "a number"
            raise InputError(f"{self.key}: guess={guess!r}: give {kind}{f' in {self.unit}' if self.unit else ''}")
        return [float(v) for v in several] if self.points else float(several[0])


@dataclass(frozen=True)
class SimulatedAnswer:
    """The simulated answer to a question."""

    question: Question
    value: float | str | Sequence[float]
    shown: str
    """The answer in words, with unit."""
    bars: Mapping[str, float] = field(default_factory=dict)
    """For choices: the measured value behind each letter."""


def answer_figure(answer: SimulatedAnswer) -> Figure:
    """Draw the answer and an empty place for the guess; `extra` says where the guess belongs."""
    question = answer.question
    value_axis = {"title": {"text": question.unit or "value"}, "rangemode": "tozero"}
    if question.logarithmic:
        value_axis = {"title": {"text": question.unit}, "type": "log"}
    caption = f"Your guess beside the simulation: {question.text}"
    figure = {"id": f"guess-{question.key}", "title": "Your guess and the simulation", "caption": caption}
    if question.points:
        traces = [_curve(question.points, answer.value, _SIMULATED, RUNS[0], "circle", "solid"),
                  _curve(question.points, [None] * len(question.points), _GUESS, RUNS[1], "x", "dash")]  # fmt: skip
        layout = {"xaxis": {"title": {"text": question.axis}, "tickvals": list(question.points)}, "yaxis": value_axis}
        return Figure(**figure, traces=traces, layout=layout, height_px=340, extra={"guess": {"trace": 1, "kind": "curve"}})  # type: ignore[arg-type]
    if question.choices and not answer.bars:
        return Figure(**figure, traces=[])  # type: ignore[arg-type]
    bars = {f"{letter})": v for letter, v in answer.bars.items()} if answer.bars else {_SIMULATED: answer.value}
    traces = [_bar(list(bars), list(bars.values()), _SIMULATED, RUNS[0], "")]
    kind = "choice" if answer.bars else "number"
    if kind == "choice":
        traces.append({"type": "scatter", "mode": "markers", "name": _GUESS, "x": list(bars.values()), "y": list(bars),
                       "visible": False, "marker": {"symbol": "x", "size": 16, "color": RUNS[1]}})  # fmt: skip
    else:
        traces.append(_bar([_GUESS], [None], _GUESS, RUNS[1], "/"))
    layout = {"xaxis": value_axis, "yaxis": {"autorange": "reversed"}, "showlegend": kind == "choice", "hovermode": "closest"}
    extra = {"guess": {"trace": 1, "kind": kind, "letters": list(answer.bars)}}
    return Figure(**figure, traces=traces, layout=layout, height_px=150 + 46 * len(bars), extra=extra)  # type: ignore[arg-type]


def with_guess(figure: Figure, guess: Guess) -> Figure:
    """Return the figure with the guess drawn in, as the page's script does it (lesson.js)."""
    if not figure.traces:
        return figure
    place = figure.extra["guess"]
    traces = [dict(trace) for trace in figure.traces]
    mine = traces[place["trace"]]
    if place["kind"] == "curve":
        mine["y"] = list(guess)  # type: ignore[arg-type]
    elif place["kind"] == "number":
        mine["x"] = [guess]
    else:
        at = place["letters"].index(guess)
        mine |= {"x": [mine["x"][at]], "y": [mine["y"][at]], "visible": True}
    return replace(figure, traces=traces)


def _curve(x: Sequence[float], y: Any, name: str, color: str, symbol: str, dash: str) -> Trace:
    return {"type": "scatter", "mode": "lines+markers", "x": list(x), "y": list(y), "name": name,
            "line": {"color": color, "dash": dash, "width": 2.2}, "marker": {"symbol": symbol, "size": 11}}  # fmt: skip


def _bar(labels: list[str], values: list[Any], name: str, color: str, pattern: str) -> Trace:
    return {"type": "bar", "orientation": "h", "y": labels, "x": values, "name": name,
            "marker": {"color": color, "pattern": {"shape": pattern}}, "hovertemplate": "%{x:,.4~g}"}  # fmt: skip


def formula(name: str, *arguments: float) -> Any:
    """Return the value of a textbook formula by its name. Raises InputError for a name that is not one."""
    if name not in FORMULAS:
        raise InputError(f"formula: {name}: no such formula; there are {', '.join(FORMULAS)}")
    return FORMULAS[name](*arguments)


@dataclass(frozen=True)
class Asked:
    """A question with the student's guess, if there is one yet."""

    question: Question
    guess: Guess | None

    def _repr_mimebundle_(self, **_: Any) -> Any:
        """Return the question for a page; a notebook shows the text."""
        return {QUESTION: asdict(self.question), "text/plain": repr(self)}

    def __repr__(self) -> str:
        lines = [self.question.text, *(f"  {letter}) {text}" for letter, text in self.question.choices.items())]
        if self.question.points:
            lines.append(f"  one number for each {self.question.axis}: {', '.join(f'{p:g}' for p in self.question.points)}")
        unit = f" ({self.question.unit})" if self.question.unit else ""
        if self.guess is None:
            lines.append(f"Write your guess{unit} into guess=… of this cell and run it again.")
        else:
            lines.append(f"Your guess{unit}: {self.guess}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Revealed:
    """The answer beside the guess."""

    answer: SimulatedAnswer
    guess: Guess | None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """Return the answer for a page, or the figure with both for a notebook; answers without a figure are text."""
        figure = answer_figure(self.answer)
        if ShownFigure.for_page:
            drawn = ShownFigure(figure)._repr_mimebundle_() if figure.traces else {}
            return {ANSWER: {"key": self.answer.question.key, "shown": self.answer.shown}, **drawn}
        if not figure.traces or self.guess is None:
            return {"text/plain": repr(self)}
        mine = replace(with_guess(figure, self.guess), title=repr(self))
        return ShownFigure(mine)._repr_mimebundle_(include, exclude)

    def __repr__(self) -> str:
        return f"Your guess: {self.guess}. Simulated: {self.answer.shown}."


@dataclass(frozen=True)
class Text:
    """A Markdown text with its values."""

    markdown: str

    def _repr_markdown_(self) -> str:
        return self.markdown

    def __repr__(self) -> str:
        return self.markdown


class Classroom:
    """Questions and guesses of one lesson."""

    def __init__(self) -> None:
        self.needs_guesses = True
        self._asked: dict[str, Asked] = {}

    def predict(
        self, key: str, text: str, *, unit: str = "", choices: Sequence[str] = (), points: Sequence[float] = (), axis: str = "",
        logarithmic: bool = False, guess: Guess | None = None,
    ) -> Asked:  # fmt: skip
        """Ask a question and note the student's guess.

        Args:
            key: short name, which `reveal` repeats.
            text: the question.
            unit: unit of the number, or of the y axis of a curve.
            choices: texts to choose from; the guess is then a letter: a, b, c …
            points: x values of a curve; the guess is then a list with one number for each.
            axis: title of the x axis of a curve.
            logarithmic: whether the numbers span powers of ten.
            guess: the student's guess; None asks for it.

        Raises:
            InputError: the guess does not fit the question.

        """
        letters = dict(zip(_LETTERS, choices, strict=False))
        question = Question(key, text, unit, letters, tuple(float(p) for p in points), axis, logarithmic)
        self._asked[key] = Asked(question, None if guess is None else question.checked(guess))
        return self._asked[key]

    def reveal(
        self, key: str, answer: float | str | Sequence[float], *, form: str = "number", values: Sequence[float] = (),
    ) -> Revealed:  # fmt: skip
        """Show the simulated answer beside the guess.

        Args:
            key: name of the question.
            answer: a number, a letter, or the numbers of a curve.
            form: how the answer is written: ratio, seconds, size … (the forms of placeholders).
            values: for choices, the measured number behind each.

        Raises:
            InputError: no question has this key, or the student has not guessed yet.

        """
        asked = self._asked.get(key)
        if asked is None:
            raise InputError(f"reveal: no question {key!r}; run the cell with course.predict({key!r}, …) first")
        if self.needs_guesses and asked.guess is None:
            raise InputError(f"{key}: predict first: write your guess into guess=… of the cell above and run it")
        question = asked.question
        if question.choices:
            shown = f"{answer}) {question.choices[str(answer)]}"
        else:
            several = list(answer) if isinstance(answer, Sequence) else [answer]
            unit = f" {question.unit}" if form in ("number", "ratio", "count") else ""
            shown = f"{', '.join(FORMATS[form](v) for v in several)}{unit}"
        bars = dict(zip(question.choices, (float(v) for v in values), strict=False))
        return Revealed(SimulatedAnswer(question, _plain(answer), shown, bars), asked.guess)

    def explain(self, text: str, names: Mapping[str, Any]) -> Text:
        """Return a Markdown text with the values of its placeholders. Raises InputError before all guesses are made."""
        open_questions = [key for key, asked in self._asked.items() if asked.guess is None]
        if self.needs_guesses and open_questions:
            raise InputError(f"{open_questions[0]}: predict first: write your guess into guess=… and run that cell")
        return Text(filled(text, names))


ROOM: Final = Classroom()
"""Classroom of the lesson that runs in this process."""


def build() -> None:
    """Prepare this process to run a lesson for its page: without guesses, and with figures for the page."""
    ROOM.needs_guesses = False
    ShownFigure.for_page = True


def _plain(answer: float | str | Sequence[float]) -> float | str | Sequence[float]:
    """Return an answer in Python's own numbers, which JSON can hold."""
    if isinstance(answer, str):
        return answer
    return [float(v) for v in answer] if isinstance(answer, Sequence) else float(answer)
