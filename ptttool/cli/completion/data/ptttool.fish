# Completion of ptttool's command line in fish.
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
