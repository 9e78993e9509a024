"""What makes bash, zsh and fish ask ptttool how a line may go on, and where each looks for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ptttool.errors import UsageError

_BASH: Final = r"""# Completion of ptttool's command line in bash: source this file, or put it where bash-completion looks.
_ptttool() {
    local command=${1/#\~/$HOME} line=${COMP_LINE:0:COMP_POINT} answer lines
    COMPREPLY=()
    answer=$(_PTTTOOL_COMPLETE=bash _PTTTOOL_LINE=$line _PTTTOOL_BREAKS=$COMP_WORDBREAKS "$command" 2>/dev/null) || return
    mapfile -t lines <<<"$answer"
    COMPREPLY=("${lines[@]:1}")
    case ${lines[0]} in
        files*) if ((${#COMPREPLY[@]} == 0)); then compopt -o default; fi ;;
        commands*) mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}") ;;
    esac
    case ${lines[0]} in *nospace*) compopt -o nospace ;; esac
}
complete -F _ptttool ptttool
"""

_ZSH: Final = r"""#compdef ptttool
# Completion of ptttool's command line in zsh: as _ptttool in a folder of fpath, or sourced after compinit.
_ptttool() {
    local -a lines found shown options
    local line text
    local -i width=0
    lines=("${(@f)$(_PTTTOOL_COMPLETE=zsh "${(Q)words[1]/#\~/$HOME}" "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    [[ $lines[1] == *nospace* ]] && options=(-S '')
    for line in "${(@)lines[2,-1]}"; do
        [[ -n $line ]] || continue
        found+=("${line%%$'\t'*}")
        (( ${#found[-1]} > width )) && width=${#found[-1]}
    done
    for line in "${(@)lines[2,-1]}"; do
        [[ -n $line ]] || continue
        text="${line#*$'\t'}"
        shown+=("${(r:width:)${line%%$'\t'*}}${text:+  $text}")
    done
    if (( ${#found} )); then
        compadd -l $options -d shown -a found && return 0
    fi
    case $lines[1] in
        files*) _files ;;
        commands*) _command_names -e ;;
        *) return 1 ;;
    esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _ptttool "$@"
else
    compdef _ptttool ptttool
fi
"""

_FISH: Final = r"""# Completion of ptttool's command line in fish.
function __ptttool_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l command $words[1]
    set -e words[1]
    set -l lines (env _PTTTOOL_COMPLETE=fish $command $words "$current" 2>/dev/null)
    set -l instead $lines[1]
    set -e lines[1]
    if test (count $lines) -gt 0
        printf '%s\n' $lines
    else if string match -q 'files*' -- "$instead"
        __fish_complete_path "$current"
    else if string match -q 'commands*' -- "$instead"
        __fish_complete_command
    end
end
complete -c ptttool -f -k -a '(__ptttool_complete)'
"""

_SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def script_of(shell: str) -> str:
    """Return the script of a shell; raise UsageError for another one."""
    if shell not in _SCRIPTS:
        raise UsageError(f"no completion for {shell or 'this shell'}", hint=f"there is one for {', '.join(_SCRIPTS)}", code="unknown-shell")
    return _SCRIPTS[shell]


def this_shell() -> str:
    """Return the name of the user's shell, as the environment has it."""
    return Path(os.environ.get("SHELL", "")).name


def install(shell: str) -> tuple[Path, str]:
    """Write the script of a shell where it looks for scripts of this user.

    Returns
    -------
    path : Path
        The file.
    then : str
        What is to be done so that it is used.

    Raises
    ------
    UsageError
        There is no completion for the shell.
    OutputError
        The file cannot be written.
    """
    from ptttool.files.atomic import output_file

    script = script_of(shell)
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    path, then = {
        "bash": (data / "bash-completion" / "completions" / "ptttool", "start a new shell; without the package bash-completion: source {}"),
        "zsh": (home / ".zfunc" / "_ptttool", "have this in ~/.zshrc: fpath+=~/.zfunc; autoload -Uz compinit && compinit"),
        "fish": (config / "fish" / "completions" / "ptttool.fish", "start a new shell"),
    }[shell]
    path.parent.mkdir(parents=True, exist_ok=True)
    with output_file(path, force=True) as file:
        file.write(script.encode())
    return path, then.format(path)
