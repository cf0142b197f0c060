"""Files that come onto a storage: uploads, and downloads by the node."""

from __future__ import annotations

import re
import secrets
from typing import Any

from .errors import denied, failed, invalid, invalid_all
from .model import Storage, Volume
from .routing import Call, route
from .schema import Param, Table, boolean, choice, string
from .tasks import Body, Task, TaskFailed
from .uploads import Upload
from .volumes import file_path, is_qcow2, virtual_size
from .world import Proxmox

_EXTENSIONS = {
    "iso": r".+\.(iso|img)",
    "vztmpl": r".+\.tar\.(gz|xz|zst|bz2)",
    "import": r".+\.(qcow2|raw|vmdk|ova)",
}
_ALGORITHMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")


def _contents(call: Call) -> tuple[str, ...]:
    return ("iso", "vztmpl", "import") if call.world.version >= "8.4" else ("iso", "vztmpl")


def _table(extra: dict[str, Param]) -> Any:
    def table(call: Call) -> Table:
        named = {
            "content": choice(*_contents(call), required=True),
            "filename": string(max_length=255, required=True),
            "checksum": string(),
            "checksum-algorithm": choice(*_ALGORITHMS),
        }
        return Table(named | extra)

    return table


def _name(call: Call, content: str) -> str:
    """The name on the storage."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", re.split(r"[/\\]", call.parameters["filename"])[-1].strip())
    if not re.fullmatch(_EXTENSIONS[content], name, re.IGNORECASE):
        raise invalid(filename="wrong file extension")
    return name


def _storage(call: Call, content: str) -> Storage:
    storage = call.storage()
    if content not in storage.content:
        raise failed(f"storage '{storage.name}' does not support '{content}' content")
    if ("checksum" in call.parameters) != ("checksum-algorithm" in call.parameters):
        missing = "checksum-algorithm" if "checksum" in call.parameters else "checksum"
        raise invalid_all({missing: "missing parameter"})
    return storage


@route(
    "POST",
    "/nodes/{node}/storage/{storage}/upload",
    _table({"tmpfilename": string()}),
    need=("/storage/{storage}", "Datastore.AllocateTemplate"),
)
def upload(call: Call) -> str:
    content = call.parameters["content"]
    if call.upload is None:
        raise invalid(tmpfilename="missing temporary file name")
    storage = _storage(call, content)
    name = _name(call, content)
    given, expected = call.upload, call.get("checksum")
    if not call.node.online:
        raise failed(f"command '/usr/bin/ssh -o BatchMode=yes {call.node.ip} -- mkdir' failed: exit code 255")

    def body(task: Task) -> Body:
        return _store(call, task, storage, content, name, given, expected)

    return call.task("imgcopy", "", body, call.local)


def _store(
    call: Call, task: Task, storage: Storage, content: str, name: str, upload: Upload, expected: str | None
) -> Body:
    world = call.world
    target = file_path(storage, f"{content}/{name}")
    task.say(f"starting file import from: {upload.temporary}")
    if expected is not None:
        _verify(task, upload, call.parameters["checksum-algorithm"], expected)
    if content == "import" and name.endswith(".qcow2") and not is_qcow2(upload.head()):
        raise TaskFailed(f"qemu-img: Could not open '{upload.temporary}': Image is not in qcow2 format")
    command = f"cp -- {upload.temporary} {target}"
    task.say(f"target node: {call.node.name}", f"target file: {target}", f"file size is: {upload.size}")
    if call.node.name != call.local:
        command = f"/usr/bin/scp -o BatchMode=yes -p -- {upload.temporary} [{call.node.ip}]:{target}"
    task.say(f"command: {command}")
    yield world.pace.of("imgcopy")
    if storage.full or upload.size > storage.avail:
        task.say(f"cp: error writing '{target}': No space left on device")
        raise TaskFailed(f"import failed: command '{command}' failed: exit code 1")
    replaced = world.volumes.find(f"{storage.name}:{content}/{name}", call.node.name)
    storage.avail -= upload.size - (replaced.size if replaced else 0)
    volume = Volume(
        f"{storage.name}:{content}/{name}",
        content,
        "iso" if content == "iso" else name.rpartition(".")[2],
        upload.size,
        "" if storage.shared else call.node.name,
        int(world.now()),
        virtual_size(upload.head(), upload.size),
        upload.size,
        data=upload.data,
        path=upload.path,
    )
    world.volumes.put(volume)
    task.say("finished file import successfully")


def _verify(task: Task, upload: Upload, algorithm: str, expected: str) -> None:
    got = upload.checksum(algorithm)
    if got.lower() != expected.lower():
        task.say("calculating checksum...")
        raise TaskFailed(f"checksum mismatch: got '{got}' != expect '{expected}'")
    task.say("calculating checksum...OK, checksum verified")


_DOWNLOAD: dict[str, Param] = {
    "url": string(r"https?://.*", required=True),
    "compression": string(),
    "verify-certificates": boolean(),
}


@route(
    "POST",
    "/nodes/{node}/storage/{storage}/download-url",
    _table(_DOWNLOAD),
    need=("/storage/{storage}", "Datastore.AllocateTemplate"),
)
def download(call: Call) -> str:
    _check_network(call)
    content = call.parameters["content"]
    storage = _storage(call, content)
    name = _name(call, content)
    return call.task("download", name, lambda task: _download(call, task, storage, content, name))


def _check_network(call: Call) -> None:
    network = call.may(f"/nodes/{call.node.name}", "Sys.AccessNetwork")
    if not network and not (call.may("/", "Sys.Audit") and call.may("/", "Sys.Modify")):
        raise denied()  # of alternatives none is named


@route(
    "GET",
    "/nodes/{node}/query-url-metadata",
    {"url": _DOWNLOAD["url"], "verify-certificates": boolean()},
    protected=True,
)
def url_metadata(call: Call) -> dict[str, Any]:
    _check_network(call)
    url = call.parameters["url"]
    if url not in call.world.web:
        raise failed("invalid server response: '404 Not Found'")
    name = url.rpartition("/")[2]
    return {"filename": name, "size": len(call.world.web[url]), "mimetype": "application/octet-stream"}


def _download(call: Call, task: Task, storage: Storage, content: str, name: str) -> Body:
    world: Proxmox = call.world
    volid = f"{storage.name}:{content}/{name}"
    url = call.parameters["url"]
    task.say(f"downloading {url} to {file_path(storage, f'{content}/{name}')}")
    if world.volumes.find(volid, call.node.name):
        raise TaskFailed(f"refusing to override existing file '{file_path(storage, f'{content}/{name}')}'")
    yield world.pace.of("download")
    data = world.web.get(url)
    if data is None:
        raise TaskFailed(f"download failed: 404 Not Found: {url}")
    upload = Upload(filename=name, temporary=secrets.token_hex(8), size=len(data), data=data)
    expected = call.get("checksum")
    if expected is not None:
        _verify(task, upload, call.parameters["checksum-algorithm"], expected)
    world.add_volume(volid, data, node=call.node.name)
    task.say(f"download of '{url}' to '{file_path(storage, f'{content}/{name}')}' finished")
