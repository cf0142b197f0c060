#compdef talosmith
# zsh completion for talosmith; load it with: source <(talosmith completion zsh)
_talosmith() {
    local line
    local -a found
    for line in "${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        case "$line" in
            '') ;;
            :files) _files; return ;;
            :folders) _files -/; return ;;
            *$'\t'*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
            *) found+=("${line//:/\\:}") ;;
        esac
    done
    _describe talosmith found
}
if [ "${funcstack[1]}" = "_talosmith" ]; then
    _talosmith "$@"
else
    compdef _talosmith talosmith
fi
