"""Makes the Python code of the Talos API from our `.proto` files: `python -m tools.protos`.

The result is committed, so that installing needs no compiler; a test makes it again and compares.
"""

from __future__ import annotations

import re
import tempfile
from importlib.resources import files
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc  # type: ignore[import-untyped]

SOURCES = Path(__file__).parent.parent / "src"
FOLDER = Path("talosmith/talos/proto")
MADE = ("*_pb2.py", "*_pb2.pyi", "services.pyi")
_METHODS = ("StreamStreamMethod", "StreamUnaryMethod", "UnaryStreamMethod", "UnaryUnaryMethod")
# Where each message stands in its file's bytes: protobuf in C never reads it, and nothing here asks for it. Whether
# the library is as new as the compiler: pyproject.toml says so. Comments, and a database that is never read.
_NOT_NEEDED = re.compile(
    r"^ .*\._serialized_(?:start|end)=\d+\n|^_runtime_version\.(?:.*\n)*?\)\n|^#.*\n|^\n|^_sym_db = .*\n"
    r"|^from google\.protobuf import (?:runtime_version|symbol_database) as .*\n",
    re.MULTILINE,
)
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
            f"-I{SOURCES}",
            f"-I{files('grpc_tools') / '_proto'}",
            f"--python_out={into}",
            f"--pyi_out={into}",
            f"--descriptor_set_out={into / 'all.binpb'}",
            "--include_imports",
            *names,
        ]
    )
    if failed:
        raise SystemExit("the .proto files do not compile; protoc says why above")
    for path in (into / FOLDER).glob("*_pb2.py"):
        path.write_text(re.sub(_NOT_NEEDED, "", path.read_text()))
    described = FileDescriptorSet.FromString((into / "all.binpb").read_bytes())
    (into / FOLDER / "services.pyi").write_text(_typed_services(described))
    for kind in MADE:
        for path in (into / FOLDER).glob(kind):
            path.write_text(HEAD + path.read_text())
    return committed(into)


def _typed_services(described: FileDescriptorSet) -> str:
    """The types of the tables in `services.py`: one class for each service, one attribute for each method."""
    homes = {
        f".{file.package}.{message.name}": f"{file.name.removesuffix('.proto').replace('/', '.')}_pb2.{message.name}"
        for file in described.file
        for message in file.message_type
    }
    lines = []
    for file in described.file:
        for service in file.service:
            lines += ["", f"class {service.name}Stub:", "    def __init__(self, channel: Channel) -> None: ..."]
            for method in service.method:
                kind = "".join(
                    "Stream" if one else "Unary" for one in (method.client_streaming, method.server_streaming)
                )
                sent, answered = homes[method.input_type], homes[method.output_type]
                lines.append(f"    {method.name}: {kind}Method[{sent}, {answered}]")
    modules = sorted(
        {
            home.rpartition(".")[0]
            for home in homes.values()
            if any(f"{home}," in line or f"{home}]" in line for line in lines)
        }
    )
    head = [*(f"import {module}" for module in modules), f"from grpclib.client import Channel, {', '.join(_METHODS)}"]
    return "\n".join([*head, *lines]) + "\n"


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
