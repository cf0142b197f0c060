"""What a plan shows of the changes on a libvirt host: for each function of libvirt that changes something, its calls.

A machine's own domain, disks and seed are the `machine:…` of its step, a network, pool or image the `resource:…` of
its own. What is `libvirt:…` no step is about: those that may do it on the way show it. A test records every function
that the provider calls; one that stands in neither table here fails it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from talosmith.providers.base import HostCalls
from talosmith.providers.libvirt.storage import claimed, is_image
from talosmith.providers.libvirt.wishes import Wishes

_CREATE, _POWER, _RESIZE = "machine:create", "machine:power", "machine:resize"
_SEED, _DESTROY = "machine:forget-seed", "machine:destroy"
_POOL_START, _TRIAL = "libvirt:pool-start", "libvirt:trial-start"
_MAKE_POOL, _MAKE_NETWORK, _MAKE_IMAGE = (
    (f"resource:{kind}:create", f"resource:{kind}:update") for kind in ("pool", "network", "image")
)
_DELETE_POOL, _DELETE_NETWORK, _DELETE_IMAGE = (f"resource:{kind}:delete" for kind in ("pool", "network", "image"))

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
        "virStorageVol.delete machine": (_CREATE, _SEED, _DESTROY, _DELETE_POOL),
        "virStoragePool.createXML image": _MAKE_IMAGE,
        "virStorageVol.upload image": _MAKE_IMAGE,
        "virStorageVol.delete image": (*_MAKE_IMAGE, _DELETE_IMAGE),  # one that was cut off, too
        "virConnect.storagePoolDefineXML": _MAKE_POOL,
        "virStoragePool.build": _MAKE_POOL,
        "virStoragePool.setAutostart": _MAKE_POOL,
        "virStoragePool.create": (_POOL_START, *_MAKE_POOL),
        "virStoragePool.destroy": (_DELETE_POOL,),
        "virStoragePool.delete": (_DELETE_POOL,),
        "virStoragePool.undefine": (_DELETE_POOL,),
        "virConnect.networkDefineXML": _MAKE_NETWORK,
        "virNetwork.setAutostart": _MAKE_NETWORK,
        "virNetwork.create": _MAKE_NETWORK,
        "virNetwork.destroy": (_DELETE_NETWORK,),
        "virNetwork.undefine": (_DELETE_NETWORK,),
    }
)
READING = frozenset(
    {
        *(f"virConnect.{name}" for name in ("getCapabilities", "getType", "isAlive", "newStream", "setKeepAlive")),
        *(f"virConnect.{name}" for name in ("getInfo", "getLibVersion", "getMemoryStats", "getURI", "getVersion")),
        *(f"virConnect.{name}" for name in ("close", "domainEventDeregisterAny", "domainEventRegisterAny")),
        *(f"virConnect.{name}" for name in ("listAllDomains", "listAllNetworks", "listAllStoragePools")),
        *(f"virConnect.{name}" for name in ("lookupByName", "lookupByUUIDString", "networkLookupByName")),
        *(f"virConnect.{name}" for name in ("interfaceLookupByName", "networkLookupByUUIDString")),
        *(f"virConnect.{name}" for name in ("storagePoolLookupByName", "storagePoolLookupByUUIDString")),
        "virConnect.storageVolLookupByPath",
        *(f"virDomain.{name}" for name in ("XMLDesc", "UUIDString", "info", "isActive", "name")),
        *(f"virNetwork.{name}" for name in ("UUIDString", "XMLDesc", "autostart", "isActive", "name")),
        *(f"virStoragePool.{name}" for name in ("UUIDString", "XMLDesc", "autostart", "isActive", "listAllVolumes")),
        *(f"virStoragePool.{name}" for name in ("name", "refresh")),
        "virStoragePool.storageVolLookupByName",
        *(f"virStorageVol.{name} {kind}" for name in ("XMLDesc", "download", "info", "name", "path")
          for kind in ("machine", "image")),
    }
)  # fmt: skip


def function_of(kind: str, name: str, volume: str = "") -> str:
    """The key of a function in the tables, such as `virStorageVol.delete image`; `volume`: the name of its volume."""
    if not volume:
        return f"{kind}.{name}"
    return f"{kind}.{name} {'image' if is_image(volume) or claimed(volume)[0] else 'machine'}"


def host_calls(wishes: Wishes) -> HostCalls:
    """What may be done beyond the machine's own on a host as the inventory describes it."""
    trial = (_TRIAL,) if wishes.section.domain_type == "auto" else ()
    pool = (_POOL_START,)
    return {"create": (*pool, *trial), "resize": pool, "forget-seed": pool, "destroy": pool}
