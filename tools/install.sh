#!/bin/sh
# Creates .venv with talosmith, and with the extras that are named (`dev`, `dev,libvirt`): by uv if installed, else by
# venv and pip. Each thing that is installed is a line with the time it took: a first `make up` is not silent.
set -eu
extras="${1:-}"
package=".${extras:+[$extras]}"
output=$(mktemp)
trap 'rm -f "$output"' EXIT
exec 3>&1

# `step WHAT COMMAND…` prints WHAT while the command runs, then its time; its output only if it fails.
step() {
    what="$1"
    shift
    printf '  %s … ' "$what"
    begin=$(date +%s)
    if "$@" >"$output" 2>&1; then
        echo "$(($(date +%s) - begin)) s"
    else
        code=$?
        echo "failed after $(($(date +%s) - begin)) s"
        cat "$output" >&2
        return "$code"
    fi
}

# `named COMMAND…` runs pip, and prints the name of each package on the terminal as pip gets to it.
named() {
    { "$@" || echo "exit code $?"; } | while IFS= read -r line; do
        echo "$line"
        case "$line" in "exit code "*) exit "${line#exit code }" ;; esac
        package_name="${line#Collecting }"
        case "$line" in Collecting*) printf '%s ' "${package_name%%[!A-Za-z0-9._-]*}" >&3 ;; esac
    done
}

# libvirt-python is compiled against libvirt's headers: root on Debian gets them here.
case "$extras" in *libvirt*)
    headers="libvirt-dev pkg-config gcc python3-dev"
    if ! pkg-config --exists libvirt 2>/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        # shellcheck disable=SC2086 # a list
        step "libvirt headers (apt: $headers)" sh -c "apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq \
            --yes --no-install-recommends -o DPkg::Lock::Timeout=300 install $headers" || true
    fi
    if ! pkg-config --exists libvirt 2>/dev/null; then
        echo "libvirt-python needs libvirt's headers. On Debian and Ubuntu: apt install $headers" >&2
        exit 1
    fi
    ;;
esac

echo "Installing talosmith into .venv${extras:+ with $extras}:"
count="$(grep -c '==' constraints.txt) pinned versions"
if command -v uv >/dev/null 2>&1; then
    [ -d .venv ] || step "virtual environment (uv)" uv venv --quiet --python '>=3.11' .venv
    step "talosmith and its dependencies ($count, uv)" \
        uv pip install --quiet --compile-bytecode --python .venv --constraint constraints.txt --editable "$package"
else
    found=""
    for python in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            found="$python"
            break
        fi
    done
    if [ -z "$found" ]; then
        echo "talosmith needs Python 3.11 or newer; set PYTHON=/path/to/python3.11 or install uv" >&2
        exit 1
    fi
    [ -x .venv/bin/pip ] || step "virtual environment ($("$found" --version))" "$found" -m venv --clear .venv || {
        echo "Could not create .venv. On Debian and Ubuntu: apt install python3-venv" >&2
        exit 1
    }
    step "talosmith and its dependencies ($count, pip)" \
        named .venv/bin/pip install --constraint constraints.txt --editable "$package"
fi
step "bytecode of talosmith" .venv/bin/python -m compileall -q src # an editable package is compiled by no installer
