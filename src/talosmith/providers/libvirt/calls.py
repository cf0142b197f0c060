"""What a plan shows of the changes on a libvirt host: for each function of libvirt that changes something, its calls.

A machine's own domain, disks and seed are the `machine:…` of its step. What machines share (storage pool, network,
image) is `libvirt:…`: no step is about that alone, so the steps that may do it on the way show it. A test records
every function that the provider calls; one that stands in neither table here fails it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from talosmith.model.machines import Owner
from talosmith.providers.base import HostCalls
from talosmith.providers.libvirt.storage import is_image, pool_mark
from talosmith.providers.libvirt.wishes import Wishes

_CREATE, _POWER, _RESIZE = "machine:create", "machine:power", "machine:resize"
_SEED, _DESTROY = "machine:forget-seed", "machine:destroy"
_POOL_DEFINE, _POOL_START, _POOL_UNDEFINE = "libvirt:pool-define", "libvirt:pool-start", "libvirt:pool-undefine"
_NET_DEFINE, _NET_START, _NET_UNDEFINE = "libvirt:network-define", "libvirt:network-start", "libvirt:network-undefine"
_IMAGE_UPLOAD, _IMAGE_DELETE = "libvirt:volume-upload", "libvirt:volume-delete"
_TRIAL = "libvirt:trial-start"

# By class and function, and by the kind of volume where it is one: the calls of which a step must show one.
CHANGING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "virConnect.defineXML": (_CREATE, _RESIZE),
        "virConnect.createXML": (_TRIAL,),
        "virDomain.create": (_CREATE, _POWER),
        "virDomain.destroy": (_POWER, _DESTROY, _TRIAL),
        "virDomain.shutdown": (_POWER,),
        "virDomain.setAutostart": (_CREATE,),
        "virDomain.updateDeviceFlags": (_SEED,),
        "virDomain.blockResize": (_RESIZE,),
        "virDomain.undefineFlags": (_DESTROY,),
        "virStoragePool.createXML machine": (_CREATE, _RESIZE),
        "virStorageVol.upload machine": (_CREATE,),
        "virStorageVol.resize machine": (_RESIZE,),
        "virStorageVol.delete machine": (_CREATE, _SEED, _DESTROY),
        "virStoragePool.createXML image": (_IMAGE_UPLOAD,),
        "virStorageVol.upload image": (_IMAGE_UPLOAD,),
        "virStorageVol.delete image": (_IMAGE_DELETE,),
        "virConnect.storagePoolDefineXML": (_POOL_DEFINE,),
        "virStoragePool.build": (_POOL_DEFINE,),
        "virStoragePool.setAutostart": (_POOL_DEFINE,),
        "virStoragePool.createXML mark": (_POOL_DEFINE,),
        "virStoragePool.create": (_POOL_START,),
        "virStorageVol.delete mark": (_POOL_UNDEFINE,),
        "virStoragePool.destroy": (_POOL_UNDEFINE,),
        "virStoragePool.delete": (_POOL_UNDEFINE,),
        "virStoragePool.undefine": (_POOL_UNDEFINE,),
        "virConnect.networkDefineXML": (_NET_DEFINE,),
        "virNetwork.setAutostart": (_NET_DEFINE,),
        "virNetwork.create": (_NET_START,),
        "virNetwork.destroy": (_NET_UNDEFINE,),
        "virNetwork.undefine": (_NET_UNDEFINE,),
    }
)
READING = frozenset(
    {
        *(f"virConnect.{name}" for name in ("getCapabilities", "getType", "isAlive", "newStream", "setKeepAlive")),
        *(f"virConnect.{name}" for name in ("getInfo", "getLibVersion", "getMemoryStats", "getURI", "getVersion")),
        *(f"virConnect.{name}" for name in ("close", "domainEventDeregisterAny", "domainEventRegisterAny")),
        *(f"virConnect.{name}" for name in ("listAllDomains", "listAllNetworks", "listAllStoragePools")),
        *(f"virConnect.{name}" for name in ("lookupByName", "lookupByUUIDString", "networkLookupByName")),
        "virConnect.interfaceLookupByName",
        *(f"virConnect.{name}" for name in ("storagePoolLookupByName", "storageVolLookupByPath")),
        *(f"virDomain.{name}" for name in ("XMLDesc", "UUIDString", "info", "isActive", "name")),
        *(f"virNetwork.{name}" for name in ("XMLDesc", "autostart", "isActive", "name")),
        *(f"virStoragePool.{name}" for name in ("XMLDesc", "isActive", "listAllVolumes", "name", "refresh")),
        "virStoragePool.storageVolLookupByName",
        *(f"virStorageVol.{name} {kind}" for name in ("XMLDesc", "download", "info", "name", "path")
          for kind in ("machine", "image", "mark")),
    }
)  # fmt: skip


def function_of(owner: Owner, kind: str, name: str, volume: str = "") -> str:
    """The key of a function in the tables, such as `virStorageVol.delete image`; `volume`: the name of its volume."""
    if not volume:
        return f"{kind}.{name}"
    return f"{kind}.{name} {'image' if is_image(volume) else 'mark' if volume == pool_mark(owner) else 'machine'}"


def host_calls(wishes: Wishes) -> HostCalls:
    """What may be done beyond the machine's own on a host as the inventory describes it."""
    pool = (_POOL_DEFINE, _POOL_START) if wishes.section.pool_path else (_POOL_START,)
    network = (_NET_DEFINE, _NET_START) if wishes.network is not None else ()
    trial = (_TRIAL,) if wishes.section.domain_type == "auto" else ()
    return {
        "create": (*pool, *network, _IMAGE_UPLOAD, _IMAGE_DELETE, *trial),  # an image that was cut off is deleted
        "resize": (*pool, *network),
        "forget-seed": (_POOL_START,),
        "destroy": (_POOL_START, _IMAGE_DELETE, _POOL_UNDEFINE, _NET_UNDEFINE),  # also those of an earlier inventory
    }
