# bash completion for talosmith; load it with: source <(talosmith completion bash)
_talosmith() {
    local line current="${COMP_WORDS[COMP_CWORD]}"
    [ "$current" = "=" ] && current=""
    COMPREPLY=()
    while IFS= read -r line; do
        case "$line" in
            :files | :folders)
                local kind=-f
                [ "$line" = :folders ] && kind=-d
                compopt -o filenames 2>/dev/null
                while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$kind" -- "$current")
                ;;
            *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _talosmith talosmith
