"""Small charts made in memory: any files as an archive, and stand-ins for charts that tests cannot have.

A stand-in renders a workload that has the release's name, with a ServiceAccount, and perhaps custom resource
definitions. Its values: `replicas`, `image`, `note` (an annotation, so that a test can change something).
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from typing import Literal

Kind = Literal["Deployment", "DaemonSet", "StatefulSet", "crds"]
Definition = tuple[str, ...]  # kind, group, version, perhaps scope: ("Gateway", "gateway.networking.k8s.io", "v1")

_WORKLOAD = """\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
---
apiVersion: apps/v1
kind: KIND
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  labels: {app: {{ .Release.Name }}}
  {{- with .Values.note }}
  annotations: {example.org/note: {{ . | quote }}}
  {{- end }}
spec:
  {{- if ne "KIND" "DaemonSet" }}
  replicas: {{ .Values.replicas | default 1 }}
  {{- end }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      serviceAccountName: {{ .Release.Name }}
      containers:
      - name: main
        image: {{ .Values.image | default (printf "registry.example.org/%s:%s" .Chart.Name .Chart.Version) }}
"""


def packed(files: Mapping[str, str | bytes], folder: str = "web") -> bytes:
    """A chart archive; the same files give the same bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, text in files.items():
            content = text if isinstance(text, bytes) else text.encode()
            member = tarfile.TarInfo(f"{folder}/{name}" if folder else name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(out.getvalue(), mtime=0)


def chart(version: str = "1.0.0") -> bytes:
    return packed(
        {
            "Chart.yaml": f"{{apiVersion: v2, name: web, version: {version}}}",
            "templates/a.yaml": "kind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-{{ .Chart.Version }}}\n",
        }
    )


def standin_chart(
    name: str, version: str, kind: Kind = "Deployment", *, definitions: Sequence[Definition] = ()
) -> bytes:
    """The archive of a stand-in; of kind "crds" it has its definitions alone, as templates."""
    files = {"Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version}\n", "values.yaml": "{}\n"}
    folder = "templates" if kind == "crds" else "crds"
    for one in definitions:
        files[f"{folder}/{one[0].lower()}.yaml"] = json.dumps(definition(*one))
    if kind != "crds":
        files["templates/workload.yaml"] = _WORKLOAD.replace("KIND", kind)
    return packed(files, folder=name)


def definition(kind: str, group: str, version: str, scope: str = "Namespaced") -> dict[str, object]:
    """A custom resource definition that takes any content."""
    singular = kind.lower()
    plural = singular[:-1] + "ies" if singular.endswith("y") and singular[-2] not in "aeiou" else singular + "s"
    plural = singular + "es" if singular.endswith(("s", "x", "ch", "sh")) else plural
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": singular},
            "scope": scope,
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }
