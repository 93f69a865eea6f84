"""Shell completion: scripts that complete subcommands, options and overrides.

The scripts ask LSMLab for all that changes: the options of a subcommand are those of its `--help`, so a new option, or a
subcommand of another package, needs no change here. Hydra completes overrides.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from typing import Final

from lsmlab.models.errors import InputError

Verb = Callable[[list[str]], int]

_BASH: Final = """\
# lsmlab completion for bash; install: eval "$(lsmlab --shell-completion bash)"
_lsmlab() {
    local IFS=$' \\t\\n' word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]}
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=( $(compgen -W "@VERBS@ --help --version" -- "$word") )
    elif [[ $word == -* ]]; then
        COMPREPLY=( $(compgen -W "$(lsmlab --shell-completion options "$verb" 2>/dev/null)" -- "$word") )
    elif [[ $verb == list || $verb == show ]] && (( COMP_CWORD == 2 )); then
        COMPREPLY=( $(compgen -W "@GROUPS@" -- "$word") )
    elif [[ " @COMPOSING@ " == *" $verb "* ]]; then
        # readline splits words at '=' and ':', so use the line as it is typed
        local line=${COMP_LINE:0:COMP_POINT}
        line=${line#*"$verb"}
        COMPREPLY=( $(COMP_LINE="lsmlab$line" lsmlab run -sc query=bash 2>/dev/null) )
        local typed=${line##* }
        local head=${typed%"$word"}
        COMPREPLY=( "${COMPREPLY[@]#"$head"}" )
        [[ ${COMPREPLY[0]} == *[=.] ]] && compopt -o nospace
    else
        COMPREPLY=( $(compgen -f -- "$word") )
    fi
}
complete -o default -F _lsmlab lsmlab
"""
_ZSH: Final = "autoload -U +X bashcompinit && bashcompinit\n"
_FISH: Final = """\
# lsmlab completion for fish; install: lsmlab --shell-completion fish | source
complete -c lsmlab -n __fish_use_subcommand -f -a "@VERBS@"
complete -c lsmlab -n '__fish_seen_subcommand_from list show' -f -a "@GROUPS@"
function __lsmlab_overrides
    set -lx COMP_LINE lsmlab (string join ' ' (commandline -opc)[3..-1]) (commandline -ct)
    lsmlab run -sc query=fish 2>/dev/null
end
function __lsmlab_options
    string match -q -- '-*' (commandline -ct); and lsmlab --shell-completion options (commandline -opc)[2] 2>/dev/null
end
complete -c lsmlab -n 'not __fish_use_subcommand' -a '(__lsmlab_options)'
complete -c lsmlab -n '__fish_seen_subcommand_from @COMPOSING@' -f -a '(__lsmlab_overrides)'
"""
_COMPOSING: Final = ("run", "compare", "sweep", "whatif", "advise", "tune")
"""Subcommands that take overrides."""
_WIDE: Final = "1000"
"""Width of a terminal on which a help text breaks no option."""


def completion(arguments: Sequence[str], verbs: Sequence[str], load: Callable[[str], Verb]) -> str:
    """Return a shell's completion script, or (`options VERB`) the options of a subcommand, one per line.

    `load` returns a subcommand's function. Raises InputError for another shell.
    """
    if len(arguments) == 2 and arguments[0] == "options" and arguments[1] in verbs:
        return "".join(f"{option}\n" for option in options_of(load(arguments[1])))
    from lsmlab.sim.configuration.catalogue import GROUPS

    words = {"VERBS": verbs, "GROUPS": GROUPS, "COMPOSING": [name for name in _COMPOSING if name in verbs]}
    return _script(arguments[0] if arguments else "", words)


def _script(shell: str, words: Mapping[str, Sequence[str]]) -> str:
    templates = {"bash": _BASH, "zsh": _ZSH + _BASH, "fish": _FISH}
    if shell not in templates:
        raise InputError(f"--shell-completion {shell}: name one of {', '.join(templates)}")
    text = templates[shell]
    for name, values in words.items():
        text = text.replace(f"@{name}@", " ".join(values))
    return text


def options_of(verb: Verb) -> list[str]:
    """Return the long options in a subcommand's help text, in its order."""
    text, width = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = _WIDE
    try:
        with redirect_stdout(text):
            verb(["--help"])
    except SystemExit:  # how argparse ends after a help text
        pass
    finally:
        os.environ.pop("COLUMNS")
        if width is not None:
            os.environ["COLUMNS"] = width
    found = re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text.getvalue())
    return list(dict.fromkeys([*found, "--help"]))
