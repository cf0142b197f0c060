"""Makes the Python code of the Talos API from our `.proto` files: `python -m tools.protos`.

The result is committed, so that installing needs no compiler; a test makes it again and compares.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-untyped]

SOURCES = Path(__file__).parent.parent / "src"
FOLDER = Path("talosmith/talos/proto")
MADE = ("*_pb2.py", "*_pb2.pyi", "*_grpc.py")
HEAD = """\
# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
"""


def make(into: Path) -> dict[str, str]:
    """The generated modules by name; written to `into` as well."""
    names = sorted(str(path.relative_to(SOURCES)) for path in (SOURCES / FOLDER).glob("*.proto"))
    failed = protoc.main(
        [
            "protoc",
            f"--plugin=protoc-gen-grpclib_python={Path(sys.executable).parent / 'protoc-gen-grpclib_python'}",
            f"-I{SOURCES}",
            f"-I{files('grpc_tools') / '_proto'}",
            *(f"--{kind}_out={into}" for kind in ("python", "pyi", "grpclib_python")),
            *names,
        ]
    )
    if failed:
        raise SystemExit("the .proto files do not compile; protoc says why above")
    _drop_empty_services(into / FOLDER)
    for kind in MADE:
        for path in (into / FOLDER).glob(kind):
            path.write_text(HEAD + path.read_text())
    return committed(into)


def _drop_empty_services(folder: Path) -> None:
    """The plugin writes a module for each file, services in it or not."""
    for path in folder.glob("*_grpc.py"):
        if "class " not in path.read_text():
            path.unlink()


def committed(root: Path = SOURCES) -> dict[str, str]:
    return {path.name: path.read_text() for kind in MADE for path in sorted((root / FOLDER).glob(kind))}


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        fresh = make(Path(scratch))
    for name in committed().keys() - fresh.keys():
        (SOURCES / FOLDER / name).unlink()
    for name, text in fresh.items():
        (SOURCES / FOLDER / name).write_text(text)
    print(f"{len(fresh)} modules in {SOURCES / FOLDER}")


if __name__ == "__main__":
    main()
