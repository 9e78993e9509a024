# Completion of ptttool's command line in bash: source this file, or put it where bash-completion looks.
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
