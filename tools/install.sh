#!/bin/sh
# Makes .venv with talosmith, and with the extras that are named (`dev`, `dev,libvirt`): by uv if it is there, else by
# venv and pip.
set -eu
extras="${1:-}"

# libvirt-python is compiled against libvirt's headers: root on Debian gets them here.
case "$extras" in *libvirt*)
    headers="libvirt-dev pkg-config gcc python3-dev"
    if ! pkg-config --exists libvirt 2>/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        # shellcheck disable=SC2086 # a list
        { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq --yes --no-install-recommends \
            -o DPkg::Lock::Timeout=300 install $headers; } >/dev/null 2>&1 || true
    fi
    if ! pkg-config --exists libvirt 2>/dev/null; then
        echo "libvirt-python needs libvirt's headers. On Debian and Ubuntu: apt install $headers" >&2
        exit 1
    fi
    ;;
esac
package=".${extras:+[$extras]}"

if command -v uv >/dev/null 2>&1; then
    [ -d .venv ] || uv venv --quiet --python '>=3.11' .venv
    uv pip install --quiet --compile-bytecode --python .venv --constraint constraints.txt --editable "$package"
    exec .venv/bin/python -m compileall -q src # an editable package is compiled by nobody else
fi

for python in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        [ -x .venv/bin/pip ] || "$python" -m venv --clear .venv || {
            echo "Could not make .venv. On Debian and Ubuntu: apt install python3-venv" >&2
            exit 1
        }
        .venv/bin/pip install --quiet --constraint constraints.txt --editable "$package"
        exec .venv/bin/python -m compileall -q src # an editable package is compiled by nobody else
    fi
done
echo "talosmith needs Python 3.11 or newer; set PYTHON=/path/to/python3.11 or install uv" >&2
exit 1
