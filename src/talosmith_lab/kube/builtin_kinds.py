"""The kinds that the lab's API server has without any CustomResourceDefinition, one line each.

Columns: kind, plural, short names, scope (`*` for namespaced), categories, subresources, verbs. A kind that nothing
in the lab acts on still has its line, because manifests bring objects of it.
"""

from __future__ import annotations

TABLE = """
v1
  ConfigMap                        configmaps                         cm *
  Endpoints                        endpoints                          ep *
  Event                            events                             ev *
  LimitRange                       limitranges                        limits *
  Namespace       namespaces       ns - - finalize,status create,delete,get,list,patch,update,watch
  Node                             nodes                              no - - status
  PersistentVolumeClaim            persistentvolumeclaims             pvc * - status
  PersistentVolume                 persistentvolumes                  pv - - status
  Pod                    pods                    po * all attach,binding,eviction,exec,log,portforward,status
  ResourceQuota                    resourcequotas                     quota * - status
  Secret                           secrets                            - *
  ServiceAccount                   serviceaccounts                    sa * - token
  Service                          services                           svc * all status
apiregistration.k8s.io/v1
  APIService                       apiservices                        - - - status
apps/v1
  ControllerRevision               controllerrevisions                - *
  DaemonSet                        daemonsets                         ds * all status
  Deployment                       deployments                        deploy * all scale,status
  ReplicaSet                       replicasets                        rs * all scale,status
  StatefulSet                      statefulsets                       sts * all scale,status
authentication.k8s.io/v1
  SelfSubjectReview                selfsubjectreviews                 - - - - create
  TokenReview                      tokenreviews                       - - - - create
authorization.k8s.io/v1
  LocalSubjectAccessReview         localsubjectaccessreviews          - * - - create
  SelfSubjectAccessReview          selfsubjectaccessreviews           - - - - create
  SelfSubjectRulesReview           selfsubjectrulesreviews            - - - - create
  SubjectAccessReview              subjectaccessreviews               - - - - create
autoscaling/v2
  HorizontalPodAutoscaler          horizontalpodautoscalers           hpa * all status
batch/v1
  CronJob                          cronjobs                           cj * all status
  Job                              jobs                               - * all status
certificates.k8s.io/v1
  CertificateSigningRequest        certificatesigningrequests         csr - - approval,status
networking.k8s.io/v1
  IngressClass                     ingressclasses                     - -
  Ingress                          ingresses                          ing * - status
  NetworkPolicy                    networkpolicies                    netpol *
policy/v1
  PodDisruptionBudget              poddisruptionbudgets               pdb * - status
rbac.authorization.k8s.io/v1
  ClusterRoleBinding               clusterrolebindings                - -
  ClusterRole                      clusterroles                       - -
  RoleBinding                      rolebindings                       - *
  Role                             roles                              - *
storage.k8s.io/v1
  CSIDriver                        csidrivers                         - -
  CSINode                          csinodes                           - -
  StorageClass                     storageclasses                     sc -
  VolumeAttachment                 volumeattachments                  - - - status
admissionregistration.k8s.io/v1
  MutatingWebhookConfiguration     mutatingwebhookconfigurations      - -
  ValidatingAdmissionPolicy        validatingadmissionpolicies        - - - status
  ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings  - -
  ValidatingWebhookConfiguration   validatingwebhookconfigurations    - -
apiextensions.k8s.io/v1
  CustomResourceDefinition         customresourcedefinitions          crd,crds - - status
scheduling.k8s.io/v1
  PriorityClass                    priorityclasses                    pc -
coordination.k8s.io/v1
  Lease                            leases                             - *
node.k8s.io/v1
  RuntimeClass                     runtimeclasses                     - -
discovery.k8s.io/v1
  EndpointSlice                    endpointslices                     - *
"""

# Subresources that are not simply a part of the object: what is read and written there, and how.
PARTS = {
    "attach": ("v1", "PodAttachOptions", "create,get"),
    "binding": ("v1", "Binding", "create"),
    "eviction": ("policy/v1", "Eviction", "create"),
    "exec": ("v1", "PodExecOptions", "create,get"),
    "finalize": ("", "", "update"),
    "log": ("", "", "get"),
    "portforward": ("v1", "PodPortForwardOptions", "create,get"),
    "scale": ("autoscaling/v1", "Scale", "get,patch,update"),
    "token": ("authentication.k8s.io/v1", "TokenRequest", "create"),
}
PART_VERBS = "get,patch,update"
VERBS = "create,delete,deletecollection,get,list,patch,update,watch"
