"""A simulated Proxmox VE cluster: state, and the changes that a test makes without a request."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .access import Identity
from .identities import Token, User
from .model import VM, Bridge, Pool, Storage, Volume
from .state import State
from .volumes import file_path, head_of, virtual_size


class Proxmox(State):
    def add_vm(
        self,
        vmid: int,
        name: str = "",
        tags: str = "",
        description: str = "",
        node: str | None = None,
        status: str = "stopped",
        **options: Any,
    ) -> VM:
        """Somebody else's VM, which has been there for long."""
        texts = {"name": name, "tags": tags, "description": description}
        config: dict[str, Any] = {"boot": " ", "memory": "512", "cores": 1}
        config |= {"smbios1": f"uuid={self.uuid()}", "vmgenid": self.uuid()}
        config |= {key: text for key, text in texts.items() if text} | options
        vm = VM(vmid, node or next(iter(self.nodes)), config, created=self.now() - 86400)
        with self.mutex:
            if status == "running":
                vm.status, vm.started, vm.pid = "running", self.now() - 3600, self.tasks.next_pid()
            vm.listed = self.listing(vm)
            self.vms[vmid] = vm
        return vm

    def add_storage(
        self, name: str, kind: str = "dir", content: Iterable[str] = ("images", "iso"), **more: Any
    ) -> Storage:
        path = more.pop("path", f"/mnt/pve/{name}" if kind == "dir" else "")
        self.storages[name] = Storage(name, kind, set(content), path, **more)
        return self.storages[name]

    def add_lvm_thin(self, name: str = "local-lvm") -> Storage:
        return self.add_storage(name, "lvmthin", ("images", "rootdir"))

    def add_bridge(self, name: str, node: str | None = None, **more: Any) -> Bridge:
        """On one node, or on all."""
        bridge = Bridge(name, **more)
        for of in self.nodes.values():
            if node in (None, of.name):
                of.bridges[name] = bridge
        return bridge

    @property
    def bridges(self) -> dict[str, Bridge]:
        """The bridges of the first node."""
        return next(iter(self.nodes.values())).bridges

    def add_volume(
        self,
        volid: str,
        content: bytes | Path | None = None,
        size: int = 0,
        *,
        node: str | None = None,
        vmid: int | None = None,
        virtual: int | None = None,
    ) -> Volume:
        """An ISO, an image to import (`local:import/x.qcow2`) or a disk (`local:100/vm-100-disk-0.raw`)."""
        storage = self.storages[volid.partition(":")[0]]
        kind, _, file = volid.partition(":")[2].partition("/")
        data = content if isinstance(content, bytes) else None
        path = content if isinstance(content, Path) else None
        length = len(data) if data is not None else path.stat().st_size if path else size
        volume = Volume(
            volid,
            "images" if kind.isdigit() or not file else kind,
            "iso" if kind == "iso" else file.rpartition(".")[2] if file else "raw",
            length,
            "" if storage.shared else node or next(iter(self.nodes)),
            int(self.now()),
            vmid=int(kind) if kind.isdigit() else vmid,
            used=length,
            data=data,
            path=path,
        )
        volume.virtual_size = virtual if virtual is not None else virtual_size(head_of(volume), length)
        with self.mutex:
            self.volumes.put(volume)
        return volume

    def add_pool(self, name: str, *vmids: int) -> Pool:
        self.pools[name] = Pool(name, vms=set(vmids))
        return self.pools[name]

    def add_token(
        self,
        user: str,
        name: str,
        privileges: Mapping[str, str | Iterable[str]] | None = None,
        privsep: bool = True,
        expire: float = 0,
    ) -> tuple[str, str]:
        """The id and the secret, also in `tokens` under the name. A new user gets the same privileges."""
        new = user not in self.access.users
        self.access.users.setdefault(user, User(user))
        token = Token(user, name, self.uuid(), privsep, expire)
        self.access.tokens[token.id] = token
        for path, what in (privileges or {}).items():
            if privsep:
                self.access.grant(path, token.id, what)
            if new or not privsep:
                self.access.grant(path, user, what)
        self.tokens[name] = (token.id, token.secret)
        return self.tokens[name]

    def grant(self, path: str, who: str, what: str | Iterable[str], propagate: bool = True) -> None:
        """To a user or a token's id: a role by name, or privileges."""
        self.access.grant(path, who, what, propagate)

    def may(self, who: Identity, path: str, *privileges: str) -> bool:
        """Whether the caller has any of the privileges."""
        rights = self.access.rights(who, path)
        return any(name in rights for name in privileges)

    def _prepare(self) -> None:
        """Tokens and roles as in the recording."""
        for kind, user, name in (
            ("root", "root@pam", "lab"),
            ("prov", "prov@pve", "api"),
            ("limited", "limited@pve", "api"),
        ):
            self.tokens[kind] = self.add_token(user, name, privsep=False)
            del self.tokens[name]
        self.add_token("root@pam", "sep")
        self.add_token("root@pam", "exp", privsep=False, expire=self.now() - 60)
        self.tokens["wrong"] = (self.tokens["root"][0], self.uuid())
        self.tokens["unknown"] = ("nobody@pve!api", self.uuid())
        config = (f"VM.Config.{what}" for what in ("CDROM", "CPU", "Disk", "HWType", "Memory", "Network", "Options"))
        self.access.roles |= {
            "Prov": frozenset({"VM.Allocate", "VM.Audit", *config}),
            "ProvSt": frozenset({"Datastore.AllocateSpace", "Datastore.Audit"}),
            "ProvSdn": frozenset({"SDN.Use"}),
            "LabVM": frozenset({"VM.Audit", "VM.PowerMgmt"}),
        }
        for path, role in {"/vms": "Prov", "/storage/local": "ProvSt", "/sdn/zones/localnetwork": "ProvSdn"}.items():
            self.grant(path, "prov@pve", role)

    def volume_bytes(self, volid: str, node: str | None = None) -> bytes:
        """The contents; of a disk, the contents of the imported or cloned image."""
        volume = self._with_contents(volid, node)
        if volume.path is not None:
            return volume.path.read_bytes()
        return volume.data if volume.data is not None else bytes(volume.size)

    def volume_path(self, volid: str, node: str | None = None) -> Path:
        """The contents as a file, which is not to be changed."""
        volume = self._with_contents(volid, node)
        if volume.path is None:
            volume.path = self.folder / secrets.token_hex(8)
            volume.path.write_bytes(volume.data if volume.data is not None else bytes(volume.size))
        return volume.path

    def _with_contents(self, volid: str, node: str | None) -> Volume:
        volume = self.volumes[volid] if node is None else self.volumes.find(volid, node)
        while volume and volume.data is None and volume.path is None and (volume.origin or volume.parent):
            volume = volume.origin or volume.parent
        if volume is None:
            raise KeyError(volid)
        return volume

    def path_of(self, volume: Volume) -> str:
        return file_path(self.storages[volume.storage], volume.name)
