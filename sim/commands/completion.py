"""Shell completion: scripts that complete subcommands and options, and ask Hydra to complete overrides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lsmlab.models.errors import InputError

_BASH: Final = """\
# lsmlab completion for bash; install: eval "$(lsmlab --shell-completion bash)"
_lsmlab() {
    local IFS=$' \\t\\n' word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]}
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=( $(compgen -W "@VERBS@ --help --version" -- "$word") )
    elif [[ $verb == list || $verb == show ]] && (( COMP_CWORD == 2 )); then
        COMPREPLY=( $(compgen -W "engine device workload host keys experiment" -- "$word") )
    elif [[ $verb == run || $verb == compare || $verb == sweep ]]; then
        case $word in
            -*) COMPREPLY=( $(compgen -W "@OPTIONS@" -- "$word") ) ;;
            *)  # readline splits words at '=' and ':', so use the line as it is typed
                local line=${COMP_LINE:0:COMP_POINT}
                line=${line#*"$verb"}
                COMPREPLY=( $(COMP_LINE="lsmlab$line" lsmlab run -sc query=bash 2>/dev/null) )
                local typed=${line##* }
                local head=${typed%"$word"}
                COMPREPLY=( "${COMPREPLY[@]#"$head"}" )
                [[ ${COMPREPLY[0]} == *[=.] ]] && compopt -o nospace ;;
        esac
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
complete -c lsmlab -n '__fish_seen_subcommand_from list show' -f -a "engine device workload host keys experiment"
function __lsmlab_overrides
    set -lx COMP_LINE lsmlab (string join ' ' (commandline -opc)[3..-1]) (commandline -ct)
    lsmlab run -sc query=fish 2>/dev/null
end
complete -c lsmlab -n '__fish_seen_subcommand_from run compare sweep' -f -a '(__lsmlab_overrides)'
"""
_OPTIONS: Final = "--options --out --json --replications --jobs --fresh --no-report --config-dir --multirun --cfg --help"


def script(arguments: Sequence[str], verbs: Sequence[str]) -> str:
    """Return the completion script for bash, zsh or fish. Raises InputError for another shell."""
    shell = arguments[0] if arguments else ""
    templates = {"bash": _BASH, "zsh": _ZSH + _BASH, "fish": _FISH}
    if shell not in templates:
        raise InputError(f"--shell-completion {shell}: name one of {', '.join(templates)}")
    return templates[shell].replace("@VERBS@", " ".join(verbs)).replace("@OPTIONS@", _OPTIONS)
