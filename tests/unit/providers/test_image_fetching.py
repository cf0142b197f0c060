"""Images are proven before they are used, unpacked, and fetched once."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import lzma
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
import zstandard

from talosmith.errors import Permanent, Temporary
from talosmith.providers import progress
from talosmith.providers.images import Source, obtain
from talosmith.providers.progress import reporting_to

CONTENT = b"boots".ljust(512, b"\1") + bytes(3 * 1024 * 1024) + b"end"
URL = "https://images.test/disk.raw"


def zstd(data: bytes) -> bytes:
    return bytes(zstandard.compress(data))


class Server:
    """Answers as it is told; counts."""

    def __init__(self, body: bytes = CONTENT, status: int = 200, *, breaks: bool = False) -> None:
        self.body, self.status, self.breaks = body, status, breaks
        self.asked: list[tuple[str, str, bytes]] = []

    @property
    def transport(self) -> httpx2.MockTransport:
        return httpx2.MockTransport(self._answer)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append((request.method, str(request.url), request.read()))
        if request.method == "POST":
            return httpx2.Response(201)
        return httpx2.Response(self.status, content=self._parts() if self.breaks else self.body)

    def _parts(self) -> Iterator[bytes]:
        yield self.body[:1000]
        raise httpx2.ReadError("the line went dead")


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("packing", ["plain", "xz", "gz", "zst"])
def test_an_image_is_unpacked(tmp_path: Path, packing: str) -> None:
    packed = {"plain": bytes, "xz": lzma.compress, "gz": gzip.compress, "zst": zstd}[packing](CONTENT)
    image = obtain(Source(URL, sha256(packed)), tmp_path, transport=Server(packed).transport)
    assert Path(image.path).read_bytes() == CONTENT
    assert (image.digest, image.format) == (hashlib.sha256(CONTENT).hexdigest(), "raw")
    assert image.length == image.capacity == len(CONTENT)


async def test_who_waits_for_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_EVERY", 3600.0)  # how far it is would be told where it takes long
    heard: list[str] = []
    packed = lzma.compress(CONTENT)
    with reporting_to(heard.append):
        await asyncio.to_thread(lambda: obtain(Source(URL), tmp_path, transport=Server(packed).transport))
        await asyncio.sleep(0)
        assert heard == ["fetching the image", "unpacking the image"]
        await asyncio.to_thread(lambda: obtain(Source(URL), tmp_path))
        await asyncio.sleep(0)
    assert len(heard) == 2, "what is there already is not fetched"


def test_what_is_known_is_not_fetched_again(tmp_path: Path) -> None:
    server = Server()
    first = obtain(Source(URL), tmp_path, transport=server.transport)
    assert obtain(Source(URL), tmp_path, transport=server.transport) == first
    assert len(server.asked) == 1
    Path(first.path).unlink()
    assert obtain(Source(URL), tmp_path, transport=server.transport) == first
    assert len(server.asked) == 2


def test_https_that_leads_to_plain_http_proves_nothing(tmp_path: Path) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.scheme == "https":
            return httpx2.Response(302, headers={"location": "http://mirror.test/disk.raw"})
        return httpx2.Response(200, content=CONTENT)

    transport = httpx2.MockTransport(answer)
    with pytest.raises(Permanent, match=r"nothing proves that http://mirror.test/disk.raw"):
        obtain(Source(URL), tmp_path, transport=transport)
    assert not list(tmp_path.glob("*.img"))
    assert obtain(Source(URL, sha256(CONTENT)), tmp_path, transport=transport).length == len(CONTENT)


def test_the_factory_is_told_of_the_schematic_first(tmp_path: Path) -> None:
    server = Server()
    source = Source(URL, schematic="customization: {}\n", schematic_url="https://images.test/schematics")
    obtain(source, tmp_path, transport=server.transport)
    assert server.asked == [("POST", source.schematic_url, b"customization: {}\n"), ("GET", URL, b"")]


def test_another_image_than_the_one_that_is_meant_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=hashlib.sha256(CONTENT).hexdigest()) as refused:
        obtain(Source(URL, sha256(b"another")), tmp_path, transport=Server().transport)
    assert "image_checksum" in refused.value.hint
    assert not list(tmp_path.glob("*.img")) and not list(tmp_path.glob("*.json"))


def test_a_part_of_an_image_is_never_used(tmp_path: Path) -> None:
    with pytest.raises(Temporary, match="the line went dead"):
        obtain(Source(URL), tmp_path, transport=Server(breaks=True).transport)
    assert not [one for one in tmp_path.iterdir() if one.suffix != ".lock"]
    assert Path(obtain(Source(URL), tmp_path, transport=Server().transport).path).read_bytes() == CONTENT


def test_a_packed_part_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    cut = lzma.compress(CONTENT)[:-20]
    with pytest.raises(Permanent, match="cannot be unpacked"):
        obtain(Source(URL), tmp_path, transport=Server(cut).transport)
    assert not list(tmp_path.glob("*.img"))


@pytest.mark.parametrize(("status", "kind"), [(404, Permanent), (403, Permanent), (503, Temporary), (429, Temporary)])
def test_a_server_that_says_no(tmp_path: Path, status: int, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=str(status)):
        obtain(Source(URL), tmp_path, transport=Server(status=status).transport)


def test_a_file_of_the_users_stays_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mine.raw"
    file.write_bytes(CONTENT)
    image = obtain(Source(str(file)), tmp_path / "cache")
    assert image.path == str(file) and image.digest == hashlib.sha256(CONTENT).hexdigest()
    file.write_bytes(CONTENT + b"changed")
    assert obtain(Source(str(file)), tmp_path / "cache").digest == hashlib.sha256(CONTENT + b"changed").hexdigest()
    file.unlink()
    with pytest.raises(Permanent, match="there is no image"):
        obtain(Source(str(file)), tmp_path / "cache")


def test_what_is_no_disk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="no disk image"):
        obtain(Source(URL), tmp_path, transport=Server(bytes(4096)).transport)


def test_a_qcow2_says_how_large_its_disk_is(tmp_path: Path) -> None:
    header = b"QFI\xfb" + (3).to_bytes(4, "big") + bytes(16) + (7 * 2**30).to_bytes(8, "big")
    image = obtain(Source(URL), tmp_path, transport=Server(header.ljust(65536, b"\0")).transport)
    assert (image.format, image.length, image.capacity) == ("qcow2", 65536, 7 * 2**30)


def test_a_file_that_is_no_iso_is_told_with_its_setting(tmp_path: Path) -> None:
    file = tmp_path / "talos.iso"
    file.write_bytes(bytes(64 * 1024))
    with pytest.raises(Permanent, match="is not an ISO") as refused:
        obtain(Source(str(file), setting="proxmox.iso", iso=True), tmp_path / "cache")
    assert "proxmox.iso" in refused.value.hint
    file.write_bytes(bytes(0x8001) + b"CD001" + bytes(2048))
    assert obtain(Source(str(file), setting="proxmox.iso", iso=True), tmp_path / "cache").format == "iso"
