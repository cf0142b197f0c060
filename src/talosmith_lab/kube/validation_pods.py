"""What makes the spec of a pod invalid, in the API server's words and order: volumes, containers, then the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from talosmith_lab.kube import names
from talosmith_lab.kube.errors import cause, invalid_value, required
from talosmith_lab.kube.quantity import amount
from talosmith_lab.kube.schema import Obj

Problems = Iterator[Obj]

PROTOCOLS = ("SCTP", "TCP", "UDP")
_PORT_RULE = "must be between 1 and 65535, inclusive"
_NOT_NEGATIVE = "must be greater than or equal to 0"
_VARIABLE_RULE = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
# What a source of a volume cannot do without.
_NEEDED = {
    "hostPath": "path",
    "configMap": "name",
    "secret": "secretName",
    "persistentVolumeClaim": "claimName",
    "csi": "driver",
}


def unsupported(field: str, value: Any, known: Sequence[str]) -> Obj:
    shown = ", ".join(f'"{one}"' for one in known)
    return cause("FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {shown}', field)


def duplicate(field: str, shown: str) -> Obj:
    return cause("FieldValueDuplicate", f"Duplicate value: {shown}", field)


def forbidden(field: str, why: str) -> Obj:
    return cause("FieldValueForbidden", f"Forbidden: {why}", field)


def port_number(field: str, value: Any) -> Problems:
    if isinstance(value, int) and not 0 < value < 65536:
        yield invalid_value(field, value, _PORT_RULE)


def port_name(field: str, value: str) -> Problems:
    """A name for a port, as internet services have them."""
    if len(value) > 15:
        yield invalid_value(field, value, "must be no more than 15 characters")
    if not re.fullmatch("[-a-z0-9]+", value):
        yield invalid_value(field, value, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        yield invalid_value(field, value, "must contain at least one letter (a-z)")
    if "--" in value:
        yield invalid_value(field, value, "must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        yield invalid_value(field, value, "must not begin or end with a hyphen")


def labels(field: str, values: Obj | None) -> Problems:
    for key, value in (values or {}).items():
        yield from names.qualified(field, key)
        yield from names.label_value(field, str(value))


def pod_spec_problems(spec: Obj, path: str) -> Problems:
    volumes = spec.get("volumes") or ()
    yield from _volumes(volumes, f"{path}.volumes")
    known = {volume.get("name") for volume in volumes}
    if not spec.get("containers"):
        yield required(f"{path}.containers")
    seen: set[str] = set()
    for part in ("containers", "initContainers"):
        for place, container in enumerate(spec.get(part) or ()):
            yield from _container(container, f"{path}.{part}[{place}]", seen, known)
    restart = spec.get("restartPolicy", "Always")
    if restart not in ("Always", "OnFailure", "Never"):
        yield unsupported(f"{path}.restartPolicy", restart, ("Always", "OnFailure", "Never"))
    policy = spec.get("dnsPolicy", "ClusterFirst")
    known_policies = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
    if policy not in known_policies:
        yield unsupported(f"{path}.dnsPolicy", policy, known_policies)
    yield from labels(f"{path}.nodeSelector", spec.get("nodeSelector"))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 0 < deadline < 2**31:
        yield invalid_value(f"{path}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive")
    for place, toleration in enumerate(spec.get("tolerations") or ()):
        operator = toleration.get("operator") or "Equal"
        if operator not in ("Equal", "Exists"):
            yield unsupported(f"{path}.tolerations[{place}].operator", operator, ("Equal", "Exists"))


def _volumes(volumes: Sequence[Obj], path: str) -> Problems:
    seen: set[str] = set()
    for place, volume in enumerate(volumes):
        where, name = f"{path}[{place}]", volume.get("name", "")
        sources = [source for source, value in volume.items() if source != "name" and value is not None]
        for source in sorted(sources, key=_source_order)[1:]:
            yield forbidden(f"{where}.{source}", "may not specify more than 1 volume type")
        for source in sources[:1]:
            needed = _NEEDED.get(source)
            if needed and not volume[source].get(needed):
                yield required(f"{where}.{source}.{needed}")
        if not name:
            yield required(f"{where}.name")
        elif not names.is_label(name):
            yield invalid_value(f"{where}.name", name, names.LABEL_RULE)
        elif name in seen:
            yield duplicate(f"{where}.name", f'"{name}"')
        seen.add(name)


def _source_order(source: str) -> int:
    """The order in which the API server looks at sources; the first one counts."""
    return ("emptyDir", "hostPath").index(source) if source in ("emptyDir", "hostPath") else 2


def _container(container: Obj, where: str, seen: set[str], volumes: set[Any]) -> Problems:
    name = container.get("name", "")
    if not name:
        yield required(f"{where}.name")
    elif not names.is_label(name):
        yield invalid_value(f"{where}.name", name, names.LABEL_RULE)
    elif name in seen:
        yield duplicate(f"{where}.name", f'"{name}"')
    seen.add(name)
    if not container.get("image"):
        yield required(f"{where}.image")
    yield from _ports(container.get("ports") or (), f"{where}.ports")
    yield from _variables(container.get("env") or (), f"{where}.env")
    for place, mount in enumerate(container.get("volumeMounts") or ()):
        here = f"{where}.volumeMounts[{place}]"
        if not mount.get("name"):
            yield required(f"{here}.name")
        elif mount["name"] not in volumes:
            yield cause("FieldValueNotFound", f'Not found: "{mount["name"]}"', f"{here}.name")
        if not mount.get("mountPath"):
            yield required(f"{here}.mountPath")
    pull = container.get("imagePullPolicy", "Always")
    if pull not in ("Always", "IfNotPresent", "Never"):
        yield unsupported(f"{where}.imagePullPolicy", pull, ("Always", "IfNotPresent", "Never"))
    yield from _resources(container.get("resources") or {}, f"{where}.resources")
    for probe in _PROBES:
        if container.get(probe) is not None:
            yield from _probe(container[probe], f"{where}.{probe}")


def _ports(ports: Sequence[Obj], path: str) -> Problems:
    seen: set[str] = set()
    for place, port in enumerate(ports):
        name = port.get("name", "")
        if name:
            wrong = list(port_name(f"{path}[{place}].name", name))
            yield from wrong
            if not wrong and name in seen:
                yield duplicate(f"{path}[{place}].name", f'"{name}"')
            seen.add(name)
        if not port.get("containerPort"):
            yield required(f"{path}[{place}].containerPort")
        else:
            yield from port_number(f"{path}[{place}].containerPort", port["containerPort"])
        if port.get("protocol", "TCP") not in PROTOCOLS:
            yield unsupported(f"{path}[{place}].protocol", port["protocol"], PROTOCOLS)


def _variables(variables: Sequence[Obj], path: str) -> Problems:
    for place, variable in enumerate(variables):
        name = variable.get("name", "")
        if not name:
            yield required(f"{path}[{place}].name")
        elif "=" in name or not name.isascii() or not name.isprintable():
            yield invalid_value(f"{path}[{place}].name", name, _VARIABLE_RULE)
        if variable.get("value") and variable.get("valueFrom") is not None:
            why = "may not be specified when `value` is not empty"
            yield invalid_value(f"{path}[{place}].valueFrom", "", why)


def _resources(resources: Obj, path: str) -> Problems:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for part, values in (("limits", limits), ("requests", requests)):
        for name, text in values.items():
            number = amount(str(text))
            if number is not None and number < 0:
                yield invalid_value(f"{path}.{part}[{name}]", str(text), _NOT_NEGATIVE)
            limit = amount(str(limits.get(name, ""))) if part == "requests" else None
            if number is not None and limit is not None and number > limit:
                why = f"must be less than or equal to {name} limit of {limits[name]}"
                yield invalid_value(f"{path}.requests", str(text), why)


def _probe(probe: Obj, path: str) -> Problems:
    handlers = [name for name in _HANDLERS if probe.get(name) is not None]
    if not handlers:
        yield required(path, "must specify a handler type")
    for name in handlers:
        if name in ("httpGet", "tcpSocket", "grpc"):
            yield from port_number(f"{path}.{name}.port", probe[name].get("port", 0))
    for name in _COUNTS:
        if probe.get(name, 0) < 0:
            yield invalid_value(f"{path}.{name}", probe[name], _NOT_NEGATIVE)
