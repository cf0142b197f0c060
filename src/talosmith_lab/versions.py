"""What the versions of Talos bring along, and which upgrade to which. A new release is one more line of data."""

from __future__ import annotations

from dataclasses import dataclass

from talosmith.model.versions import TALOS_LINES, Version


@dataclass(frozen=True, slots=True)
class Line:
    etcd: str
    containerd: str
    kernel: str
    core_dns: str = "v1.14.6"
    flannel: str = "0.28.8"


LINES: dict[tuple[int, int], Line] = {
    (1, 8): Line("3.5.17", "2.0.0", "6.6.64"),
    (1, 9): Line("3.5.21", "2.0.5", "6.12.25"),
    (1, 10): Line("3.5.26", "2.0.7", "6.12.63"),
    (1, 11): Line("3.6.5", "2.1.5", "6.12.62"),
    (1, 12): Line("3.6.11", "2.2.5", "6.18.42"),
    (1, 13): Line("3.6.12", "2.2.7", "6.18.44"),
    (1, 14): Line("3.7.1", "2.3.4", "6.18.48", "v1.14.7", "0.28.9"),
}
_NEWEST = LINES[max(LINES)]


def line_of(version: str) -> Line:
    """What is newer than all lines here is taken for the newest."""
    return LINES.get(Version.parse(version).line, _NEWEST)


def version_in(image: str) -> str:
    """The version that an installer image's tag says; raises `ValueError`."""
    name, _, tag = image.partition("@")[0].rpartition(":")
    if not name or "/" in tag:
        raise ValueError(f"the image {image!r} has no tag")
    return str(Version.parse(tag))


def refusal(target: str, host: str) -> str:
    """Why the installer of the target version does not run on a host; empty if it does."""
    line, running = TALOS_LINES.get(Version.parse(target).line), Version.parse(host).line
    if line is None or line.oldest_host <= running <= line.newest_host:
        return ""
    bound = f"older than {_text(line.oldest_host)}" if running < line.oldest_host else "too new"
    return f"host version {host} is {bound} to install {target}"


def kubernetes_refusal(image: str, talos: str) -> str:
    """Why a node of this Talos does not take a Kubernetes image; empty if it does."""
    tag = image.partition("@")[0].rpartition(":")[2]
    try:
        version = Version.parse(tag.removesuffix("-fat").removesuffix("-slim"))
    except ValueError:
        return f"failed to parse the image tag of {image!r}"
    line = TALOS_LINES.get(Version.parse(talos).line)
    if line is None or line.oldest_kubernetes <= version.minor <= line.newest_kubernetes:
        return ""
    word = "old" if version.minor < line.oldest_kubernetes else "new"
    return f"version of Kubernetes {str(version).removeprefix('v')} is too {word} to be used with Talos {talos}"


def _text(line: tuple[int, int]) -> str:
    return "{}.{}".format(*line)
