"""What a cluster keeps in the host's storage pool: the image, the machines' disks, their seeds and console logs.

Every function here runs in a worker thread, as the work of one `Host.do`, and may be repeated: volumes have names
that no other process uses, so an existing one was made by the attempt before.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from talosmith.errors import Permanent, Temporary
from talosmith.model.machines import Owner
from talosmith.providers.images import Image
from talosmith.providers.libvirt.connection import Host, chunks, found, libvirt
from talosmith.providers.libvirt.failures import GONE, NOT_NOW, VOLUME_EXISTS, code_of
from talosmith.providers.libvirt.storage import (
    FILE_POOLS,
    Names,
    Pool,
    Volume,
    claim_name,
    claimed,
    image_name,
    is_image,
    last_written,
    listed,
    pool_uuid,
    read_pool,
    render_pool,
    render_volume,
    uuid_in,
)
from talosmith.providers.progress import counting, report_progress
from talosmith.tasks import stop_if_cancelled

_MIB = 2**20
_FIRST_BLOCK = 64 * 1024
_LOG_PART = 256 * 1024
_STILL, _TURN = 15.0, 0.5  # seconds; in the first, an upload that is under way has written something


@dataclass(frozen=True, slots=True)
class Store:
    host: Host
    owner: Owner
    pool_name: str
    pool_path: str = ""  # where to make the pool if it is missing; empty: it must be there

    # The pool

    def pool(self, connection: Any, *, start: bool = False) -> Any:
        """libvirt's pool, running; None if it does not exist, or is off and not to be started."""
        pool = found(lambda: connection.storagePoolLookupByName(self.pool_name))
        if pool is not None and not pool.isActive():
            if not start:
                return None
            switch_on(pool)
        return pool

    def ready_pool(self, connection: Any) -> Any:
        """The pool for a machine's volumes. One that does not serve is left as it is, not started."""
        pool = found(lambda: connection.storagePoolLookupByName(self.pool_name))
        if pool is None:
            names = ", ".join(sorted(one.name() for one in connection.listAllStoragePools())) or "none"
            raise Permanent(
                f"the host has no storage pool {self.pool_name!r} (it has: {names})",
                hint="set `libvirt.pool` to one of them, or `libvirt.pool_path` to a folder to have it created there",
            )
        self.described(pool)
        switch_on(pool)
        return pool

    def described(self, pool: Any) -> Pool:
        described = read_pool(pool.XMLDesc())
        if described.type not in FILE_POOLS:
            raise Permanent(
                f"the pool {self.pool_name!r} is of the kind {described.type!r}, which holds no files; thin disks, "
                "seeds and console logs are files",
                hint=f"set `libvirt.pool` to one of the kinds {', '.join(FILE_POOLS)}, or to a new name, and "
                "`pool_path: /folder/on/the/host` to have it made there",
            )
        return described

    def make_pool(self, connection: Any) -> None:
        """Create it, or finish what a run that was cut off has left of it. A foreign pool is left unchanged."""
        uuid = pool_uuid(self.owner, self.pool_name)
        pool = found(lambda: connection.storagePoolLookupByName(self.pool_name))
        if pool is None:
            wanted = Pool(self.pool_name, "dir", self.pool_path, uuid=uuid)
            try:
                pool = connection.storagePoolDefineXML(render_pool(wanted))
            except libvirt().libvirtError:
                pool = found(lambda: connection.storagePoolLookupByName(self.pool_name))
                if pool is None:  # else another was faster, and may be half done
                    raise
        if pool.UUIDString() != uuid:
            return
        try:
            if not pool.isActive():
                pool.build()
        except libvirt().libvirtError:
            if not pool.isActive():
                raise
        switch_on(pool)
        if not pool.autostart():
            pool.setAutostart(1)

    def delete_pool(self, connection: Any, uuid: str) -> None:
        """With what cut-off runs of this cluster have left in it. It is kept if anything else is in it."""
        pool = found(lambda: connection.storagePoolLookupByUUIDString(uuid))
        if pool is None or uuid != pool_uuid(self.owner, pool.name()):
            return
        switch_on(pool)
        self.delete_leftovers(connection, pool)
        if not listed(pool):
            pool.destroy()
            pool.delete()
            pool.undefine()

    # The image

    def image_path(self, pool: Any, image: Image) -> str:
        volume = found(lambda: pool.storageVolLookupByName(image_name(image.digest, image.format)))
        if volume is None:
            raise Permanent(
                f"the pool {self.pool_name!r} has no image {image_name(image.digest, image.format)}: it was deleted",
                hint="run the same again: the image is uploaded again",
            )
        return str(volume.path())

    def upload_image(self, connection: Any, pool: Any, image: Image) -> str:
        """The path of the image on the host. Its first block is written last: without it, it is not whole.

        It is claimed before: from then on no other cluster deletes it, used or not.
        """
        self._create(pool, Volume(claim_name(self.owner, image.digest), 0))
        name = image_name(image.digest, image.format)
        volume = found(lambda: pool.storageVolLookupByName(name))
        if volume is not None:
            if self.is_whole(connection, volume):
                return str(volume.path())
            self._take_over(volume, name)
        if not self._create(pool, Volume(name, image.length)):
            raise _uploaded_by_another(name)
        try:
            return self._upload(connection, pool, name, image)
        except libvirt().libvirtError as error:
            if code_of(error) in GONE:  # another run took it for an interrupted upload
                raise _uploaded_by_another(name) from None
            raise

    def _upload(self, connection: Any, pool: Any, name: str, image: Image) -> str:
        volume = pool.storageVolLookupByName(name)
        with Path(image.path).open("rb") as file:
            first = file.read(_FIRST_BLOCK)
            rest = image.length - len(first)
            if rest:
                parts = counting(chunks(file.read), "copying the image to the host", rest)
                self.host.upload(connection, volume, parts, rest, len(first))
        self.host.upload(connection, volume, iter([first]), len(first))
        pool.refresh()  # now libvirt sees what kind of image it is
        return str(volume.path())

    def is_whole(self, connection: Any, volume: Any) -> bool:
        return bool(self.host.download(connection, volume, 0, 512).strip(b"\0"))

    def delete_image(self, pool: Any, digest: str) -> None:
        """It is kept while other clusters have claimed it, or have disks over it.

        The claim goes last, so that a run that is cut off is finished by the next. Two clusters that give it up at
        once see each other's claim: so it is looked at again.
        """
        self._delete_unused(pool, digest)
        delete_volume(found(lambda: pool.storageVolLookupByName(claim_name(self.owner, digest))))
        self._delete_unused(pool, digest)

    def _delete_unused(self, pool: Any, digest: str) -> None:
        there = listed(pool)
        used = {one.backing for one in there}
        if not {whose for one in there if (whose := claimed(one.name)[0]) and digest in one.name} - {self.owner.id}:
            self.delete(pool, lambda one: is_image(one.name, digest) and one.path not in used)

    def _take_over(self, volume: Any, name: str) -> None:
        """What an upload has left that was cut off. libvirt would delete one that is under way as well: what is still
        written to is left alone."""
        try:
            before = last_written(volume.XMLDesc())
            report_progress("checking whether another run is copying the image to the host")
            _pause()
            if last_written(volume.XMLDesc()) != before:
                raise _uploaded_by_another(name)
            volume.delete()
        except libvirt().libvirtError as error:
            if code_of(error) in GONE:
                return
            if code_of(error) == NOT_NOW:
                raise _uploaded_by_another(name) from None
            raise

    # A machine's volumes

    def make_disks(self, pool: Any, names: Names, sizes_mib: tuple[int, ...], image: Image, base: str) -> list[str]:
        """The first is a thin layer over the image, the others are empty. Their paths."""
        if sizes_mib and sizes_mib[0] * _MIB < image.capacity:
            raise Permanent(
                f"{names.node}: a disk of {sizes_mib[0]} MiB is smaller than the image, {image.capacity // _MIB} MiB",
                hint="give the node a larger `disk`",
            )
        paths = []
        for number, mib in enumerate(sizes_mib):
            below = (base, image.format) if number == 0 else ("", "")
            self._create(pool, Volume(names.disk(number), mib * _MIB, "qcow2", *below))
            paths.append(str(pool.storageVolLookupByName(names.disk(number)).path()))
        return paths

    def add_disk(self, pool: Any, names: Names, number: int, mib: int) -> str:
        self._create(pool, Volume(names.disk(number), mib * _MIB, "qcow2"))
        return str(pool.storageVolLookupByName(names.disk(number)).path())

    def upload_seed(self, connection: Any, pool: Any, names: Names, iso: bytes) -> str:
        """Named by its hash: a changed seed is another volume. One that is there is written again, to be sure."""
        name = names.seed(hashlib.sha256(iso).hexdigest())
        self._create(pool, Volume(name, len(iso)))
        volume = pool.storageVolLookupByName(name)
        self.host.upload(connection, volume, iter([iso]), len(iso))
        return str(volume.path())

    def console(self, connection: Any, pool: Any, path: str) -> str:
        """The end of what a machine has written. The log is made by the host, not by us: libvirt is to look again."""
        name = path.rpartition("/")[2]
        volume = found(lambda: pool.storageVolLookupByName(name))
        if volume is None:
            pool.refresh()
            volume = found(lambda: pool.storageVolLookupByName(name))
        if volume is None:
            return ""
        length = int(volume.info()[1])
        return self.host.download(connection, volume, max(0, length - _LOG_PART)).decode(errors="replace")

    def delete(self, pool: Any, wanted: Callable[[Volume], bool], *, refresh: bool = False) -> None:
        if refresh:
            with suppress(libvirt().libvirtError):  # something else in the pool is in use; what is listed will do
                pool.refresh()
        for one in listed(pool):
            if wanted(one):
                delete_volume(found(lambda name=one.name: pool.storageVolLookupByName(name)))  # type: ignore[misc]

    def delete_leftovers(self, connection: Any, pool: Any) -> None:
        """Volumes of machines of this cluster that no longer exist, or were cut off before they did."""
        uuids = {uuid for one in listed(pool) if (uuid := uuid_in(self.owner, one.name))}
        gone = {uuid for uuid in uuids if self.host.domain_by_id(connection, uuid) is None}
        self.delete(pool, lambda one: uuid_in(self.owner, one.name) in gone)

    def _create(self, pool: Any, volume: Volume) -> bool:
        """Whether it was made now."""
        try:
            pool.createXML(render_volume(volume))
        except libvirt().libvirtError as error:
            if code_of(error) == VOLUME_EXISTS or re.search("exists already|already exists", str(error)):
                return False
            raise
        return True


def _uploaded_by_another(name: str) -> Temporary:
    return Temporary(f"the image {name} is being uploaded by another run", retry_after=5.0)


def _pause() -> None:
    for _ in range(round(_STILL / _TURN)):
        stop_if_cancelled()
        time.sleep(_TURN)


def switch_on(thing: Any) -> None:
    """A pool or a network. Another may have been faster."""
    try:
        if not thing.isActive():
            thing.create()
    except libvirt().libvirtError:
        if not thing.isActive():
            raise


def delete_volume(volume: Any) -> None:
    """Silent when it is gone."""
    if volume is None:
        return
    try:
        volume.delete()
    except libvirt().libvirtError as error:
        if code_of(error) not in GONE:
            raise
