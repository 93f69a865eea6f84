"""Predictions of a lesson: the question, the student's guess, and both drawn together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.reports.figures.base import Figure, Trace
from lsmlab.reports.palette import RUNS

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
    from dataclasses import replace

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
