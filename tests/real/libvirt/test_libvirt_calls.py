"""The bench counts the calls that a client makes: as many as it makes, and nothing is lost on the way."""

from __future__ import annotations

import io
import os
from pathlib import Path

from bench.rpc import counting
from talosmith.providers.libvirt.connection import libvirt
from tests.real.libvirt.daemon import Daemon


def test_calls_are_counted_and_passed_on(daemon: Daemon, tmp_path: Path) -> None:
    library, content = libvirt(), os.urandom(3 * 2**20)
    with counting(daemon.socket, daemon.folder / "counted") as counted:
        connection = library.open(f"qemu+unix:///system?socket={daemon.folder}/counted")
        opening = counted.calls
        assert opening > 0

        for _ in range(7):
            assert connection.getLibVersion() == library.open(daemon.uri).getLibVersion()
        assert counted.calls == opening + 7

        # An upload is one call, however many parts it is sent in.
        described = f"<pool type='dir'><name>counted</name><target><path>{tmp_path}</path></target></pool>"
        pool = connection.storagePoolCreateXML(described)
        try:
            volume = pool.createXML(f"<volume><name>some</name><capacity>{len(content)}</capacity></volume>")
            before = counted.calls
            stream = connection.newStream()
            volume.upload(stream, 0, len(content))
            stream.sendAll(lambda _, count, file: file.read(count), io.BytesIO(content))
            stream.finish()
            assert counted.calls == before + 1
            assert (tmp_path / "some").read_bytes() == content
        finally:
            pool.destroy()

        before = counted.calls
        other = library.open(f"qemu+unix:///system?socket={daemon.folder}/counted")
        assert counted.calls == before + opening, "another client asks the same to begin with"
        other.close()
        connection.close()
