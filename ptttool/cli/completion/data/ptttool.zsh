#compdef ptttool
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
