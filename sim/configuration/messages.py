"""Messages for bad input, one line each: the place, the error and the remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from lsmlab.models.errors import InputError
from lsmlab.models.options.not_simulated import reason_text
from lsmlab.models.text.printable import printable

_COMPOSITION: Final = ("hydra", "omegaconf", "yaml", "antlr4", "hydra_plugins", "optuna")
"""Packages that compose a configuration or start runs: their errors are about the user's input."""
_PACKAGES: Final = {
    **dict.fromkeys(("hydra/launcher=ray", "hydra/launcher=ray_aws"), "hydra-ray-launcher"),
    **dict.fromkeys(("hydra/launcher=submitit_local", "hydra/launcher=submitit_slurm"), "hydra-submitit-launcher"),
    "hydra/launcher=rq": "hydra-rq-launcher",
    "hydra/sweeper=optuna": "hydra-optuna-sweeper", "hydra/sweeper=ax": "hydra-ax-sweeper",
    "hydra/sweeper=nevergrad": "hydra-nevergrad-sweeper",
}  # fmt: skip
_OPTIONS: Final = "engine.options."
_RATE_KEYS: Final = ("workload.scale", "workload.rate")
"""Packages that contain Hydra's launchers and sweepers."""
_BUILT_IN: Final = (ValueError, TypeError, AssertionError, KeyError, AttributeError, RecursionError, ArithmeticError)
"""Errors that Hydra and OmegaConf raise for bad input, besides their own."""
_LENGTH: Final = 400
"""Largest length of a message in characters."""


def one_line(error: BaseException) -> str | None:
    """Return the message for the user; None if the error is not about the input, and therefore a bug of LSMLab."""
    if isinstance(error, InputError):
        return _flat(str(error))
    if not _from_composition(error):
        return None
    return _flat(_explain(error))


def _from_composition(error: BaseException) -> bool:
    """Return whether Hydra or OmegaConf raised the error: one of their own classes, or a built-in error from inside."""
    if type(error).__module__.partition(".")[0] in _COMPOSITION:
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not isinstance(error, _BUILT_IN):
        return False
    return str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0] in _COMPOSITION


def _explain(error: BaseException) -> str:
    from hydra.errors import MissingConfigException, OverrideParseException

    if isinstance(error, OverrideParseException):
        return _unparsed(error.override, str(error))
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _missing(error.missing_cfg_file, error.options or ())
    if type(error).__name__ == "MissingMandatoryValue":
        return f"{getattr(error, 'full_key', None) or 'configuration'}: a value is required"
    ambiguous = re.match(r"Ambiguous value for argument '(.*?)'", str(error))
    if ambiguous:
        return f"{ambiguous.group(1)}: several values; use 'lsmlab compare', or 'lsmlab run -m' for a sweep"
    return _key_of(error) + _first_sentence(str(error))


def _unparsed(override: str, text: str) -> str:
    if "=" not in override and not override.startswith("~"):
        return f"{override}: not an override; write key=value, such as device=nvme, or --help for the options"
    reason = _after(text, ": ").splitlines()[0].strip()
    return f"{override}: cannot be read ({reason}); put single quotes around a value with special characters"


def _missing(name: str, options: Iterable[str]) -> str:
    group, _, entry = name.rpartition("/")
    known = sorted(o for o in options if not o.startswith("_"))
    place = f"{group}={entry}" if group else name
    if package := _PACKAGES.get(place):
        return f"{place}: its package is not installed; install it with: pip install {package}"
    near = difflib.get_close_matches(entry, known, n=1)
    if near:
        return f"{place}: no such entry; did you mean {group}={near[0]}?"
    return f"{place}: no such entry; known: {', '.join(known) or 'none (see lsmlab list)'}"


def unknown_key(key: str, config: Mapping[str, Any]) -> InputError:
    """Return the error for an override of a key that `config` does not have; it names the nearest existing key."""
    known = list(flat_keys(config))
    if key in known:
        return InputError(f"{key}: this key exists; write it without +")
    if key in _RATE_KEYS:
        loops = "workload=constant, or experiment=imported for the store of a LOG"
        return InputError(f"{key}: the clients of this workload have no rate; choose an open loop first: {loops}")
    if key.startswith(_OPTIONS) and (reason := reason_text(key.removeprefix(_OPTIONS))):
        return InputError(f"{key}: no such key; {reason}")
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.7)
    if not near:  # a right name in the wrong place, such as max_background_jobs without engine.options
        near = [k for k in known if k.rpartition(".")[2] == key.rpartition(".")[2]][:1]
    parent = key.rpartition(".")[0]
    if near:
        return InputError(f"{key}: no such key; did you mean {near[0]}?")
    siblings = sorted(
        {k[len(parent) + 1 :].partition(".")[0] for k in known if k.startswith(f"{parent}.")} if parent else config
    )
    if siblings:
        return InputError(f"{key}: no such key; {parent or 'the configuration'} has {', '.join(siblings)}")
    return InputError(f"{key}: no such key; 'lsmlab run --cfg job' prints all keys")


def flat_keys(config: Mapping[str, Any], prefix: str = "") -> Iterable[str]:
    """Yield all keys of a nested mapping with dots between levels; inner nodes are included."""
    for key, value in config.items():
        yield f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flat_keys(value, f"{prefix}{key}.")


def _key_of(error: BaseException) -> str:
    key = getattr(error, "full_key", None)
    return f"{key}: " if key and str(key) not in str(error).splitlines()[0] else ""


def _first_sentence(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    kept = [x for x in lines if x and not re.match(r"(full_key|object_type|reference_type|See https?)", x)]
    return " ".join(kept)


def _after(text: str, mark: str) -> str:
    return text.partition(mark)[2] or text


def _flat(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _LENGTH else line[: _LENGTH - 1] + "…"
