"""Reads claims: claims/<paper>.yaml contains published figures, ranges and texts; Python adds the runs and the measure.

A text refers to a shared text by `$name`. In a mechanism or a note, `{run.number:.1f}` is replaced by a number of a
simulated run of the paper: `run` is a `Setting.name`, `number` a name in numbers.py; the value is the mean over the
seeds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.sim.yaml_text import read_yaml
from lsmlab.validation.papers.claim import Claim, Measure, Setting

_FOLDER: Final = Path(__file__).with_name("claims")
_NAME: Final = re.compile(r"\$(\w+)")


@cache
def _data(paper: str) -> Mapping[str, Any]:
    found: dict[str, Any] = read_yaml(_FOLDER / f"{paper}.yaml")
    return found


def citation(paper: str) -> str:
    """Return the citation of the paper."""
    return str(_data(paper)["citation"])


def claim(name: str, runs: tuple[Setting, ...], measure: Measure) -> Claim:
    """Return the claim of this id with its data from the paper's file; `measure` computes its figure from `runs`.

    Raises InputError if the file has no such claim.
    """
    paper = name.partition(".")[0]
    known = _data(paper)
    if name not in known["claims"]:
        raise InputError(f"{_FOLDER / paper}.yaml: no claim {name}; add its published figure and accepted range")
    data: dict[str, Any] = dict(known["claims"][name])
    texts = {key: _whole(value, known["texts"]) for key, value in data.items() if isinstance(value, str)}
    low, high = data.pop("accepted")
    return Claim(id=name, accepted=(float(low), float(high)), runs=runs, measure=measure, **(data | texts))


def described(paper: str) -> list[str]:
    """Return the ids of all claims in the paper's file."""
    return list(_data(paper)["claims"])


def _whole(text: str, shared: Mapping[str, str]) -> str:
    """Replace each `$name` in a text by the shared text."""
    return _NAME.sub(lambda found: _whole(shared[found[1]], shared), text)
