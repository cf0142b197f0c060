"""Protocol buffers: what a real API server writes is read as what it says in JSON."""

from __future__ import annotations

import json
import ssl
import urllib.request
import uuid
from typing import Any

import pytest
import yaml

from talosmith.kube.credentials import Credentials
from talosmith_lab import wire
from talosmith_lab.kube import protobuf
from talosmith_lab.kube.normal import normalized
from talosmith_lab.kube.schema import schema_for
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.fixtures import kube_apiserver

__all__ = ["kube_apiserver"]

OBJECTS = """\
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 0
  strategy: {rollingUpdate: {maxSurge: 30%, maxUnavailable: 0}}
  selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [a, b]}]}
  template:
    metadata: {labels: {app: web, tier: a}, annotations: {x.io/y: "ä"}}
    spec:
      securityContext: {runAsUser: 0, runAsNonRoot: false, sysctls: [{name: a.b, value: "1"}]}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
      tolerations: [{operator: Exists, tolerationSeconds: 0, effect: NoExecute}]
      volumes:
      - {name: conf, configMap: {name: c, defaultMode: 420, items: [{key: a, path: b}]}}
      - {name: tmp, emptyDir: {medium: Memory, sizeLimit: 1Gi}}
      - name: all
        projected:
          sources:
          - {secret: {name: s}}
          - {downwardAPI: {items: [{path: n, fieldRef: {fieldPath: metadata.name}}]}}
      containers:
      - name: c
        image: nginx:1
        args: ["--x", ""]
        env:
        - {name: A, value: b}
        - {name: S, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}
        ports: [{containerPort: 80, protocol: TCP}]
        resources: {requests: {cpu: 10m, memory: 20Mi}, limits: {cpu: "1"}}
        livenessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 3}
        readinessProbe: {tcpSocket: {port: named}, initialDelaySeconds: 1}
        lifecycle: {preStop: {exec: {command: [sleep, "1"]}}}
        volumeMounts: [{name: conf, mountPath: /c, readOnly: true}]
---
apiVersion: v1
kind: Service
spec: {type: ClusterIP, clusterIP: None, selector: {app: web}, ports: [{name: h, port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Secret
data: {key: AAEC/w==}
---
apiVersion: v1
kind: ConfigMap
data: {a: "", b: "ü"}
binaryData: {c: /w==}
---
apiVersion: batch/v1
kind: CronJob
spec:
  schedule: "@hourly"
  suspend: true
  jobTemplate:
    spec:
      backoffLimit: 0
      template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
spec: {minAvailable: 50%, selector: {matchLabels: {app: web}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
rules: [{apiGroups: [""], resources: [pods], verbs: [get], resourceNames: [a]}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
spec:
  rules:
  - host: a.example
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
spec: {holderIdentity: me, leaseDurationSeconds: 15, leaseTransitions: 0}
"""
PLURALS = {"Deployment": "deployments", "Service": "services", "Secret": "secrets", "ConfigMap": "configmaps",
           "CronJob": "cronjobs", "PodDisruptionBudget": "poddisruptionbudgets", "Role": "roles",
           "Ingress": "ingresses", "Lease": "leases"}  # fmt: skip


def ask(server: ApiServer, context: ssl.SSLContext, path: str, accept: str, body: bytes | None = None) -> bytes:
    headers = {"Accept": accept, "Content-Type": "application/json"}
    request = urllib.request.Request(f"https://{server.address}{path}", body, headers)
    with urllib.request.urlopen(request, context=context, timeout=240) as answer:  # noqa: S310
        return bytes(answer.read())


@pytest.mark.parametrize("obj", list(yaml.safe_load_all(OBJECTS)), ids=lambda obj: obj["kind"])
def test_a_real_servers_bytes_are_what_it_says_in_json(kube_apiserver: ApiServer, obj: dict[str, Any]) -> None:
    context = Credentials.from_bundle(kube_apiserver.bundle).context()
    name = f"t{uuid.uuid4().hex[:10]}"
    version = obj["apiVersion"]
    path = f"/{'apis' if '/' in version else 'api'}/{version}/namespaces/default/{PLURALS[obj['kind']]}"
    body = json.dumps({**obj, "metadata": {"name": name, "labels": {"a": "b"}}}).encode()
    ask(kube_apiserver, context, path, "application/json", body)
    plain = json.loads(ask(kube_apiserver, context, f"{path}/{name}", "application/json"))
    packed = protobuf.decoded(ask(kube_apiserver, context, f"{path}/{name}", protobuf.MEDIA))
    schema = schema_for(plain)
    assert schema is not None
    assert normalized(packed, schema) == normalized(plain, schema)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"k8s\0\xff\xff",
        b"k8s\0" + wire.blob(1, wire.blob(1, b"v1") + wire.blob(2, b"Nonsense")),
        b"k8s\0" + wire.blob(1, wire.blob(1, b"v1") + wire.blob(2, b"Pod")) + wire.blob(2, wire.number(1, 5)),
        b"k8s\0" + wire.blob(1, wire.blob(1, b"v1") + wire.blob(2, b"\xff")),
    ],
    ids=["nothing", "json", "cut-off", "unknown-kind", "wrong-type", "no-text"],
)
def test_what_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(protobuf.Unreadable):
        protobuf.decoded(data)
