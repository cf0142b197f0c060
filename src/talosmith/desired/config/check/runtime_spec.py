"""The types in an OCI runtime spec, to see whether overrides for it can be one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from talosmith.desired.config.schema.notation import ListOf, MapOf, Struct, Type, parse_table

_SHARED_TABLES = {
    "Id": "containerID u32\nhostID u32\nsize u32",
    "Hook": "path s\nargs []s\nenv []s\ntimeout int",
    "Throttle": "major int\nminor int\nrate uint",
    "Process": """
terminal         bool
consoleSize      .
    height  uint
    width   uint
user             .
    uid             u32
    gid             u32
    umask           u32
    additionalGids  []u32
    username        s
args             []s
commandLine      s
env              []s
cwd              s
capabilities     .
    bounding     []s
    effective    []s
    inheritable  []s
    permitted    []s
    ambient      []s
rlimits          [].
    type  s
    hard  uint
    soft  uint
noNewPrivileges  bool
apparmorProfile  s
oomScoreAdj      int
scheduler        .
    policy    s
    nice      int
    priority  int
    flags     []s
    runtime   uint
    deadline  uint
    period    uint
selinuxLabel     s
ioPriority       .
    class     s
    priority  int
execCPUAffinity  .
    initial  s
    final    s
""",
    "Resources": """
devices         [].
    allow   bool
    type    s
    major   int
    minor   int
    access  s
memory          .
    limit              int
    reservation        int
    swap               int
    kernel             int
    kernelTCP          int
    swappiness         uint
    disableOOMKiller   bool
    useHierarchy       bool
    checkBeforeUpdate  bool
cpu             .
    shares           uint
    quota            int
    burst            uint
    period           uint
    realtimeRuntime  int
    realtimePeriod   uint
    cpus             s
    mems             s
    idle             int
pids            .
    limit  int
blockIO         .
    weight                   u16
    leafWeight               u16
    weightDevice             [].
        major       int
        minor       int
        weight      u16
        leafWeight  u16
    throttleReadBpsDevice    []@Throttle
    throttleWriteBpsDevice   []@Throttle
    throttleReadIOPSDevice   []@Throttle
    throttleWriteIOPSDevice  []@Throttle
hugepageLimits  [].
    pageSize  s
    limit     uint
network         .
    classID     u32
    priorities  [].
        name      s
        priority  u32
rdma            {}.
    hcaHandles  u32
    hcaObjects  u32
unified         {}s
""",
    "Seccomp": """
defaultAction     s
defaultErrnoRet   uint
architectures     []s
flags             []s
listenerPath      s
listenerMetadata  s
syscalls          [].
    names     []s
    action    s
    errnoRet  uint
    args      [].
        index     uint
        value     uint
        valueTwo  uint
        op        s
""",
}

_SPEC = """
ociVersion   s
process      @Process
root         .
    path      s
    readonly  bool
hostname     s
domainname   s
mounts       [].
    destination  s
    type         s
    source       s
    options      []s
    uidMappings  []@Id
    gidMappings  []@Id
hooks        .
    prestart         []@Hook
    createRuntime    []@Hook
    createContainer  []@Hook
    startContainer   []@Hook
    poststart        []@Hook
    poststop         []@Hook
annotations  {}s
linux        .
    uidMappings        []@Id
    gidMappings        []@Id
    sysctl             {}s
    resources          @Resources
    cgroupsPath        s
    namespaces         [].
        type  s
        path  s
    devices            [].
        path      s
        type      s
        major     int
        minor     int
        fileMode  u32
        uid       u32
        gid       u32
    netDevices         {}.
        name  s
    seccomp            @Seccomp
    rootfsPropagation  s
    maskedPaths        []s
    readonlyPaths      []s
    mountLabel         s
    intelRdt           .
        closID            s
        schemata          []s
        l3CacheSchema     s
        memBwSchema       s
        enableMonitoring  bool
    memoryPolicy       .
        mode   s
        nodes  s
        flags  []s
    personality        .
        domain  s
        flags   []s
    timeOffsets        {}.
        secs      int
        nanosecs  u32
"""

_shared: dict[str, Struct] = {}
for _name, _table in _SHARED_TABLES.items():
    _shared[_name] = parse_table(_name, _table, _shared)
SPEC = parse_table("runtime spec", _SPEC, _shared)


def check_runtime_spec(value: Any) -> Iterator[str]:
    """The paths at which a value is of another type than the spec says. What the spec does not know is ignored."""
    return _check(SPEC, value, "")


def _check(of: Type, value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    if isinstance(of, Struct | MapOf):
        if not isinstance(value, Mapping):
            yield path
            return
        for key, inner in value.items():
            known = of.value if isinstance(of, MapOf) else of.fields[key].type if key in of.fields else None
            if known is not None:
                yield from _check(known, inner, f"{path}.{key}" if path else str(key))
    elif isinstance(of, ListOf):
        if not isinstance(value, list):
            yield path
            return
        for index, item in enumerate(value):
            yield from _check(of.item, item, f"{path}[{index}]")
    elif not _fits(of.name, value):  # type: ignore[union-attr]
        yield path


def _fits(name: str, value: Any) -> bool:
    if name in ("s", "bool"):
        return isinstance(value, str if name == "s" else bool)
    if isinstance(value, bool) or not isinstance(value, int | float) or value % 1:
        return False
    highest = {"u16": 1 << 16, "u32": 1 << 32, "uint": 1 << 64}.get(name, 1 << 63)
    return (-highest if name == "int" else 0) <= value < highest
