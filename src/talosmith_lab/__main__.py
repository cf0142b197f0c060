"""`python -m talosmith_lab LAB`: be that lab. `talosmith` starts this in the background."""

from __future__ import annotations

import sys

from talosmith_lab.serve import serve

if __name__ == "__main__":
    serve(sys.argv[1])
