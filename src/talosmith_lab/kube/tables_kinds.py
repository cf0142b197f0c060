"""Which columns each kind has. A plus is for wide output only; what follows a colon is the type."""

from __future__ import annotations

from talosmith_lab.kube import tables_cluster as cluster
from talosmith_lab.kube import tables_network as network
from talosmith_lab.kube import tables_workloads as workloads
from talosmith_lab.kube.kinds import Kind
from talosmith_lab.kube.tables_columns import Cells, Columns, Obj, columns
from talosmith_lab.kube.tables_pods import pod_cells, pod_conditions

_RBAC, _STORAGE, _HOOKS = "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io"
_FLOW = "flowcontrol.apiserver.k8s.io"
_COUNTED = "Desired:integer Current:integer Ready:integer"
_MADE_OF = "+Containers +Images +Selector"
_SUBJECTS = "+Users +Groups +ServiceAccounts"
_EVENTS = "Last_Seen Type Reason Object +Subobject +Source Message +First_Seen +Count +Name"

_ROWS: tuple[tuple[str, str, str, Cells], ...] = (
    (
        "",
        "pods",
        "Name Ready Status Restarts Age +IP +Node +Nominated_Node +Readiness_Gates",
        pod_cells,
    ),
    (
        "",
        "nodes",
        "Name Status Roles Age Version +Internal-IP +External-IP +OS-Image +Kernel-Version +Container-Runtime",
        cluster.node,
    ),
    ("", "namespaces", "Name Status Age", cluster.namespace),
    ("", "componentstatuses", "Name Status Message Error", cluster.component),
    ("", "configmaps", "Name Data Age", cluster.config_map),
    ("", "secrets", "Name Type Data Age", cluster.secret),
    ("", "serviceaccounts", "Name Age", cluster.only_age),
    ("", "events", _EVENTS, cluster.event),
    ("events.k8s.io", "events", _EVENTS, cluster.event),
    ("", "services", "Name Type Cluster-IP External-IP Port(s) Age +Selector", network.service),
    ("", "endpoints", "Name Endpoints Age", network.endpoints),
    (
        "",
        "persistentvolumes",
        "Name Capacity Access_Modes Reclaim_Policy Status Claim StorageClass VolumeAttributesClass Reason Age "
        "+VolumeMode",
        cluster.volume,
    ),
    (
        "",
        "persistentvolumeclaims",
        "Name Status Volume Capacity Access_Modes StorageClass VolumeAttributesClass Age +VolumeMode",
        cluster.claim,
    ),
    ("", "replicationcontrollers", f"Name {_COUNTED} Age {_MADE_OF}", workloads.replication_controller),
    ("", "podtemplates", "Name Containers Images Pod_Labels", workloads.pod_template),
    ("", "resourcequotas", "Name Request Limit Age", cluster.quota),
    ("apps", "deployments", f"Name Ready Up-to-date Available Age {_MADE_OF}", workloads.deployment),
    ("apps", "replicasets", f"Name {_COUNTED} Age {_MADE_OF}", workloads.replica_set),
    (
        "apps",
        "daemonsets",
        f"Name {_COUNTED} Up-to-date:integer Available:integer Node_Selector Age {_MADE_OF}",
        workloads.daemon_set,
    ),
    ("apps", "statefulsets", "Name Ready Age +Containers +Images", workloads.stateful_set),
    ("apps", "controllerrevisions", "Name Controller Revision Age", workloads.controller_revision),
    ("batch", "jobs", f"Name Status Completions Duration Age {_MADE_OF}", workloads.job),
    (
        "batch",
        "cronjobs",
        f"Name Schedule Timezone Suspend:boolean Active:integer Last_Schedule Age {_MADE_OF}",
        workloads.cron_job,
    ),
    (
        "autoscaling",
        "horizontalpodautoscalers",
        "Name Reference Targets MinPods MaxPods Replicas Age",
        workloads.autoscaler,
    ),
    (
        "policy",
        "poddisruptionbudgets",
        "Name Min_Available Max_Unavailable Allowed_Disruptions:integer Age",
        workloads.disruption_budget,
    ),
    (
        "scheduling.k8s.io",
        "priorityclasses",
        "Name Value:integer Global-Default:boolean Age PreemptionPolicy",
        workloads.priority_class,
    ),
    ("node.k8s.io", "runtimeclasses", "Name Handler Age", workloads.runtime_class),
    ("coordination.k8s.io", "leases", "Name Holder Age", cluster.lease),
    (
        "certificates.k8s.io",
        "certificatesigningrequests",
        "Name Age SignerName Requestor RequestedDuration Condition",
        cluster.signing_request,
    ),
    ("discovery.k8s.io", "endpointslices", "Name AddressType Ports Endpoints Age", network.endpoint_slice),
    ("networking.k8s.io", "ingresses", "Name Class Hosts Address Ports Age", network.ingress),
    ("networking.k8s.io", "ingressclasses", "Name Controller Parameters Age", network.ingress_class),
    ("networking.k8s.io", "networkpolicies", "Name Pod-Selector Age", network.network_policy),
    ("networking.k8s.io", "servicecidrs", "Name CIDRs Age", network.service_cidr),
    ("networking.k8s.io", "ipaddresses", "Name ParentRef", network.ip_address),
    (_RBAC, "rolebindings", f"Name Role Age {_SUBJECTS}", cluster.binding),
    (_RBAC, "clusterrolebindings", f"Name Role Age {_SUBJECTS}", cluster.binding),
    (
        _STORAGE,
        "storageclasses",
        "Name Provisioner ReclaimPolicy VolumeBindingMode AllowVolumeExpansion Age",
        cluster.storage_class,
    ),
    (
        _STORAGE,
        "volumeattachments",
        "Name Attacher::name PV Node Attached:boolean Age",
        cluster.attachment,
    ),
    (_STORAGE, "volumeattributesclasses", "Name DriverName Age", cluster.attributes_class),
    (_STORAGE, "csinodes", "Name Drivers:integer Age", cluster.csi_node),
    (
        _STORAGE,
        "csidrivers",
        "Name AttachRequired:boolean PodInfoOnMount:boolean StorageCapacity:boolean TokenRequests "
        "RequiresRepublish:boolean Modes Age",
        cluster.csi_driver,
    ),
    (_HOOKS, "mutatingwebhookconfigurations", "Name Webhooks:integer Age", cluster.webhooks),
    (_HOOKS, "validatingwebhookconfigurations", "Name Webhooks:integer Age", cluster.webhooks),
    (
        _FLOW,
        "flowschemas",
        "Name PriorityLevel MatchingPrecedence DistinguisherMethod Age MissingPL",
        cluster.flow_schema,
    ),
    (
        _FLOW,
        "prioritylevelconfigurations",
        "Name Type NominalConcurrencyShares Queues HandSize QueueLengthLimit Age",
        cluster.priority_level,
    ),
    ("resource.k8s.io", "deviceclasses", "Name Age", cluster.only_age),
    ("resource.k8s.io", "resourceclaimtemplates", "Name Age", cluster.only_age),
    ("apiregistration.k8s.io", "apiservices", "Name Service Available Age", cluster.api_service),
)

KINDS: dict[tuple[str, str], Columns] = {
    (group, plural): columns(text, cells) for group, plural, text, cells in _ROWS
}


def row_conditions(kind: Kind, item: Obj) -> list[Obj]:
    return pod_conditions(item) if (kind.group, kind.plural) == ("", "pods") else []
