"""Small changes of others' sources, without which a real node does not run on a machine like this, or harms it."""

from __future__ import annotations

from tools.peers.machine import can_lower_oom_score, has_cgroup2_controllers
from tools.peers.recipe import Patch

REBOOT_IN_A_CONTAINER = Patch(
    file="internal/app/machined/pkg/runtime/mode.go",
    old="uint64(Reboot|Shutdown|Upgrade|Rollback|MetaKV)",
    new="uint64(Upgrade|Rollback|MetaKV)",
    reason="reboot and shutdown are refused in a container; in a pid namespace they work, and the launcher restarts",
)

_OOM_SCORE_IN_MACHINED = Patch(
    file="internal/app/machined/pkg/system/runner/process/process.go",
    old="if !ok || pathError.Err != syscall.ENOENT {",
    new="if !ok || pathError.Err != syscall.ENOENT && pathError.Err != syscall.EACCES {",
    reason="without CAP_SYS_RESOURCE nobody may lower an OOM score",
)

_OOM_SCORE_IN_RUNC = Patch(
    file="libcontainer/nsenter/nsexec.c",
    old='bail("failed to update /proc/self/oom_score_adj")',
    new='write_log(WARNING, "cannot lower /proc/self/oom_score_adj")',
    reason="without CAP_SYS_RESOURCE nobody may lower an OOM score",
)

KUBELET_KEEPS_SYSCTLS = Patch(
    file="_kubernetes/pkg/kubelet/cm/container_manager_linux.go",
    old="b := KernelTunableModify",
    new="b := KernelTunableWarn",
    reason="the kubelet would set the kernel parameters of the whole machine",
)

_RTNETLINK = "github.com/jsimonetti/rtnetlink/v2"
RTNETLINK_FOLDER = "_rtnetlink"
RTNETLINK_COPY = {RTNETLINK_FOLDER: f"{_RTNETLINK}@v2.2.1-0.20260614152944-ab8601692836"}
USE_RTNETLINK_COPY = f"-replace={_RTNETLINK}=./{RTNETLINK_FOLDER}"

ROUTE_VIA = tuple(
    Patch(
        file=f"{RTNETLINK_FOLDER}/route.go",
        old=f"type {owner} struct {{",
        new=f"type {owner} struct {{\n\tVia *RouteVia",
        reason="the commit that Talos 1.14 asks for, which has this field, is not published",
    )
    for owner in ("RouteAttributes", "NextHop")
)

_CGROUPS = "github.com/opencontainers/cgroups"
_CGROUPS_FOLDER = "_cgroups"

_MISSING_CONTROLLERS = Patch(
    file=f"{_CGROUPS_FOLDER}/file.go",
    old="func WriteFile(dir, file, data string) error {",
    new="func WriteFile(dir, file, data string) error {\n"
    '\tif _, err := os.Stat(filepath.Join(dir, file)); os.IsNotExist(err) && !strings.HasPrefix(file, "cgroup.") {\n'
    "\t\treturn nil\n\t}",
    reason="limits of controllers that this machine's cgroup v2 tree lacks are left out",
)

OOM_SCORE_IN_MACHINED = () if can_lower_oom_score() else (_OOM_SCORE_IN_MACHINED,)
OOM_SCORE_IN_RUNC = () if can_lower_oom_score() else (_OOM_SCORE_IN_RUNC,)
MISSING_CONTROLLERS = () if has_cgroup2_controllers() else (_MISSING_CONTROLLERS,)

USE_CGROUPS_COPY = (f"-replace={_CGROUPS}=./{_CGROUPS_FOLDER}",) if MISSING_CONTROLLERS else ()


def cgroups_copy(version: str) -> dict[str, str]:
    """Where that patch is needed, the copy that it changes; the line above takes the copy."""
    return {_CGROUPS_FOLDER: f"{_CGROUPS}@{version}"} if MISSING_CONTROLLERS else {}
