"""Add-ons of the user's own as folders beside an inventory: small charts and manifests, to be changed by tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.charts import definition
from tests.lab.up.places import Here

_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      containers:
      - name: main
        image: registry.example.org/{{ .Release.Name }}:1
        resources: {requests: {cpu: 10m, memory: 1024Mi}}
"""
_CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {text: {{ .Values.text | quote }}}
"""


def write_chart(here: Here, name: str, *, crd: bool = False, **more: str) -> Path:
    """A chart `charts/NAME`: a Deployment, a ConfigMap, and perhaps a CRD; `more`: further templates."""
    folder = here.folder / "charts" / name
    (folder / "templates").mkdir(parents=True, exist_ok=True)
    (folder / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text("replicas: 1\ntext: hello\n")
    (folder / "templates" / "deployment.yaml").write_text(_DEPLOYMENT)
    (folder / "templates" / "config.yaml").write_text(_CONFIG)
    for file, text in more.items():
        (folder / "templates" / f"{file}.yaml").write_text(text)
    if crd:
        (folder / "crds").mkdir(exist_ok=True)
        found = definition(name.title().replace("-", ""), f"{name}.example.org", "v1")
        (folder / "crds" / "crd.yaml").write_text(json.dumps(found))
    return folder


def own_charts(here: Here, names: Sequence[str], *, crds: Sequence[str] = (), **settings: str) -> str:
    """The block `addons` of an inventory with these charts; `settings`: more of one, such as `values: {…}`."""
    lines = ["addons:"]
    for name in names:
        write_chart(here, name, crd=name in crds)
        more = f", {settings[name]}" if name in settings else ""
        lines.append(f"  {name}: {{chart: ./charts/{name}{more}}}")
    return "\n".join(lines) + "\n"
