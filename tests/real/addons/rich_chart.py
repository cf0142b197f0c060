"""A chart full of what a server stores otherwise than it is written, as real charts are.

Quantities get their shortest form, empty maps and zeros vanish, defaults appear, other programs fill in fields. None
of that is a change of the add-on.
"""

from __future__ import annotations

VALUES = """\
replicas: 1
cpu: 1000m
log: info
extra: true
args: [--one, --two]
"""

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.GROUP
  creationTimestamp: null
  annotations: {controller-gen.kubebuilder.io/version: v0.2.0}
spec:
  group: GROUP
  scope: Namespaced
  preserveUnknownFields: false
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Size, type: string, jsonPath: .spec.size, priority: 0}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
            type: object
            properties:
              size: {type: string, default: large}
              port: {x-kubernetes-int-or-string: true}
              labels: {type: object, additionalProperties: {type: string}}
              parts:
                type: array
                items: {type: object, properties: {name: {type: string}, count: {type: integer, default: 2}}}
status: {acceptedNames: {kind: "", plural: ""}, conditions: [], storedVersions: []}
"""

WIDGET = """\
apiVersion: GROUP/v1
kind: Widget
metadata: {name: first, labels: {}}
spec: {port: "80", labels: {}, parts: [{name: a}, {name: b, count: 3}]}
status: {}
"""

WORKLOADS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, creationTimestamp: null, annotations: {}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 25%, maxSurge: 1}}
  minReadySeconds: 0
  template:
    metadata: {labels: {app: web}, annotations: null, creationTimestamp: null}
    spec:
      nodeSelector: {}
      tolerations: []
      affinity: {}
      hostNetwork: false
      priorityClassName: ""
      securityContext: {}
      volumes:
      - {name: scratch, emptyDir: {sizeLimit: 1024Mi}}
      - {name: config, configMap: {name: web, defaultMode: 0644}}
      containers:
      - name: main
        image: registry.example.org/web:1
        args: {{ .Values.args | toJson }}
        env:
        - {name: LOG, value: {{ .Values.log | quote }}}
        - {name: EMPTY, value: ""}
        {{- if .Values.extra }}
        - {name: EXTRA, value: "1"}
        {{- end }}
        {{- if .Values.extra }}
        workingDir: /tmp
        {{- end }}
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {path: /, port: http}, initialDelaySeconds: 0}
        resources:
          requests: {cpu: {{ .Values.cpu }}, memory: 1024Mi}
          limits: {cpu: 2000m, memory: "2147483648"}
        volumeMounts: []
status: {}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  replicas: 0
  serviceName: store
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: main, image: "registry.example.org/store:1"}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2048Mi}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  suspend: false
  jobTemplate:
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example.org/job:1"}]}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 0, selector: {matchLabels: {app: web}}}
"""

SMALL = """\
apiVersion: v1
kind: Service
metadata: {name: web, annotations: null}
spec:
  type: ClusterIP
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}, {name: dns, port: 53, targetPort: 53, protocol: UDP}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
type: Opaque
stringData: {password: hunter2}
---
apiVersion: v1
kind: Secret
metadata: {name: generated}
stringData: {password: {{ randAlphaNum 20 }}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
imagePullSecrets: []
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: web}
spec: {hard: {requests.cpu: 10000m, pods: 20}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1024Mi}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{port: 80}], from: []}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules:
  - http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
"""

RIGHTS = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: all-UNIQUE}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {example.org/to: all-UNIQUE}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: part-UNIQUE, labels: {example.org/to: all-UNIQUE}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: part-UNIQUE}
subjects: [{kind: ServiceAccount, name: web, namespace: {{ .Release.Namespace }}}]
"""

WEBHOOK = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: web-UNIQUE}
webhooks:
- name: one.GROUP
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {caBundle: "", service: {name: web, namespace: {{ .Release.Namespace }}, path: /check}}
  rules: [{apiGroups: [other.GROUP], apiVersions: [v1], operations: [CREATE], resources: ["*"]}]
- name: two.GROUP
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
  namespaceSelector: {}
  clientConfig: {service: {name: web, namespace: {{ .Release.Namespace }}}}
  rules: [{apiGroups: [other.GROUP], apiVersions: [v1], operations: [UPDATE], resources: ["*"]}]
"""


def files(unique: str) -> dict[str, str]:
    """Of the chart; what is not in a namespace has names that no other test has."""
    parts = {
        "crds/widget.yaml": CRD,
        "widget.yaml": WIDGET,
        "workloads.yaml": WORKLOADS,
        "small.yaml": SMALL,
        "rights.yaml": RIGHTS,
        "webhook.yaml": WEBHOOK,
    }
    return {
        name: text.replace("GROUP", f"{unique}.example.org").replace("UNIQUE", unique) for name, text in parts.items()
    }
