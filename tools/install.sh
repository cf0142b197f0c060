#!/bin/sh
# Makes .venv with talosmith, and with `dev` its development tools: by uv if it is there, else by venv and pip.
set -eu
package=".${1:+[$1]}"

if command -v uv >/dev/null 2>&1; then
    [ -d .venv ] || uv venv --quiet --python '>=3.11' .venv
    exec uv pip install --quiet --python .venv --constraint constraints.txt --editable "$package"
fi

for python in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        [ -x .venv/bin/pip ] || "$python" -m venv --clear .venv || {
            echo "Could not make .venv. On Debian and Ubuntu: apt install python3-venv" >&2
            exit 1
        }
        exec .venv/bin/pip install --quiet --constraint constraints.txt --editable "$package"
    fi
done
echo "talosmith needs Python 3.11 or newer; set PYTHON=/path/to/python3.11 or install uv" >&2
exit 1
