"""talos-backup: etcd snapshots in an S3 bucket, encrypted for an age key, on a schedule (`backup.etcd`).

The objects are our own: a CronJob, the credentials, and a ServiceAccount of Talos, for which Talos creates a Secret
of the same name with a talosconfig.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talosmith.addons.addon import (
    Addon,
    Finding,
    MachineNeeds,
    Object,
    TalosApiAccess,
    Values,
    namespace_of,
    secret,
)
from talosmith.addons.controlplanes import ALLOWED_ON_CONTROLPLANES
from talosmith.model.cluster import Cluster
from talosmith.model.services import EtcdBackup

NAME = "talos-backup"
IMAGE = "ghcr.io/siderolabs/talos-backup:v0.1.0-beta.3"
ROLE = "os:etcd:backup"
_API, _S3 = f"{NAME}-talos-api", f"{NAME}-s3"
_POST_QUANTUM = "age1pq1"


def objects(cluster: Cluster) -> Sequence[Object]:
    backup = cluster.services.backup
    if backup is None:
        return ()
    namespace, etcd = namespace_of(cluster, NAME), backup.etcd
    keys = {"AWS_ACCESS_KEY_ID": etcd.access_key, "AWS_SECRET_ACCESS_KEY": etcd.secret_key}
    access = {
        "apiVersion": "talos.dev/v1alpha1",
        "kind": "ServiceAccount",
        "metadata": {"name": _API, "namespace": namespace},
        "spec": {"roles": [ROLE]},
    }
    return access, secret(_S3, namespace, keys), _cron_job(cluster.name, namespace, etcd)


def _cron_job(cluster: str, namespace: str, etcd: EtcdBackup) -> Object:
    job = {
        "backoffLimit": 3,
        "activeDeadlineSeconds": 3600,
        "template": {"metadata": {"labels": {"app.kubernetes.io/name": NAME}}, "spec": _pod(cluster, etcd)},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": NAME, "namespace": namespace, "labels": {"app.kubernetes.io/name": NAME}},
        "spec": {
            "schedule": etcd.schedule,
            "concurrencyPolicy": "Forbid",
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {"spec": job},
        },
    }


def _pod(cluster: str, etcd: EtcdBackup) -> Values:
    environment = {
        "AWS_REGION": etcd.region,
        "CUSTOM_S3_ENDPOINT": etcd.endpoint,
        "BUCKET": etcd.bucket,
        "CLUSTER_NAME": cluster,
        "AGE_X25519_PUBLIC_KEY": etcd.age_public_key,
        # In this release `false` switches path style on (endpoint/bucket instead of bucket.endpoint), which every
        # S3 service understands; later sources do not read it.
        "USE_PATH_STYLE": "false",
        "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",  # services other than AWS refuse trailing checksums
    }
    container = {
        "name": NAME,
        "image": IMAGE,
        "workingDir": "/tmp",  # noqa: S108 - of the container; the snapshot is written there
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "envFrom": [{"secretRef": {"name": _S3}}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "snapshot", "mountPath": "/tmp"},  # noqa: S108
            {"name": "talos-api", "mountPath": "/var/run/secrets/talos.dev", "readOnly": True},
        ],
    }
    return {
        "restartPolicy": "OnFailure",
        "automountServiceAccountToken": False,
        "tolerations": ALLOWED_ON_CONTROLPLANES,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "runAsGroup": 1000,
            "fsGroup": 1000,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [
            {"name": "snapshot", "emptyDir": {}},
            {"name": "talos-api", "secret": {"secretName": _API}},
        ],
    }


def machine(cluster: Cluster) -> MachineNeeds:
    return MachineNeeds(api_access=(TalosApiAccess(namespace_of(cluster, NAME), ROLE),))


def check(cluster: Cluster) -> Iterator[Finding]:
    backup = cluster.services.backup
    if backup is None:
        fix = "set backup.etcd: endpoint, bucket, access_key, secret_key, age_public_key"
        yield Finding("error", ("addons", NAME), f"{NAME} needs `backup.etcd`", fix=fix)
    elif backup.etcd.age_public_key.startswith(_POST_QUANTUM):
        yield Finding(
            "error",
            ("backup", "etcd", "age_public_key"),
            f"{NAME} cannot encrypt for a post-quantum age key ({_POST_QUANTUM}…)",
            "it knows X25519 keys alone",
            "create a key with `age-keygen`, without -pq",
        )


ADDON = Addon(
    title="etcd snapshots in an S3 bucket",
    namespace=NAME,
    objects=objects,
    machine=machine,
    check=check,
)
