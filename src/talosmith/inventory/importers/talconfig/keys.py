"""Every key that a talconfig.yaml of talhelper 3 may have, as tables for `shape`."""

from __future__ import annotations

from talosmith.inventory.importers.shape import FLAG, FREE, NUMBER, SCALAR, TEXT, TEXTS, Shape

_SELECTOR: Shape = {
    "busPath": TEXT,
    "hardwareAddr": TEXT,
    "permanentAddr": TEXT,
    "pciID": TEXT,
    "driver": TEXT,
    "physical": FLAG,
}
_ROUTES: Shape = [{"network": TEXT, "gateway": TEXT, "source": TEXT, "metric": NUMBER, "mtu": NUMBER}]
_VIP: Shape = {"ip": TEXT, "equinixMetal": {"apiToken": TEXT}, "hcloud": {"apiToken": TEXT}}
_DHCP: Shape = {"routeMetric": NUMBER, "ipv4": FLAG, "ipv6": FLAG, "duidv6": TEXT}
_BOND: Shape = {
    "interfaces": [TEXT],
    "deviceSelectors": [_SELECTOR],
    "arpIPTarget": [TEXT],
    **dict.fromkeys(
        (
            "mode", "xmitHashPolicy", "lacpRate", "adActorSystem", "arpValidate", "arpAllTargets", "primary",
            "primaryReselect", "failOverMac", "adSelect",
        ),
        TEXT,
    ),
    **dict.fromkeys(
        (
            "miimon", "updelay", "downdelay", "arpInterval", "resendIgmp", "minLinks", "lpInterval",
            "packetsPerSlave", "numPeerNotif", "tlbDynamicLb", "allSlavesActive", "adActorSysPrio", "adUserPortKey",
            "peerNotifyDelay",
        ),
        NUMBER,
    ),
    "useCarrier": FLAG,
}  # fmt: skip
_WIREGUARD: Shape = {
    "privateKey": TEXT,
    "listenPort": NUMBER,
    "firewallMark": NUMBER,
    "peers": [
        {"publicKey": TEXT, "endpoint": TEXT, "persistentKeepaliveInterval": SCALAR, "allowedIPs": [TEXT]},
    ],
}
_INTERFACE: Shape = {
    "interface": TEXT,
    "deviceSelector": _SELECTOR,
    "addresses": [TEXT],
    "cidr": TEXT,
    "routes": _ROUTES,
    "bond": _BOND,
    "bridge": {"interfaces": [TEXT], "stp": {"enabled": FLAG}, "vlan": {"vlanFiltering": FLAG}},
    "bridgePort": {"master": TEXT},
    "vlans": [
        {
            "addresses": [TEXT],
            "cidr": TEXT,
            "routes": _ROUTES,
            "dhcp": FLAG,
            "vlanId": NUMBER,
            "mtu": NUMBER,
            "vip": _VIP,
            "dhcpOptions": _DHCP,
        }
    ],
    "mtu": NUMBER,
    "dhcp": FLAG,
    "ignore": FLAG,
    "dummy": FLAG,
    "dhcpOptions": _DHCP,
    "wireguard": _WIREGUARD,
    "vip": _VIP,
}
_ENCRYPTION: Shape = {
    "provider": TEXT,
    "keys": [
        {
            "slot": NUMBER,
            "static": {"passphrase": TEXT},
            "nodeID": {},
            "kms": {"endpoint": TEXT},
            "tpm": {"options": {"pcrs": [NUMBER]}, "checkSecurebootStatusOnEnroll": FLAG},
            "lockToState": FLAG,
        }
    ],
    "cipher": TEXT,
    "keySize": NUMBER,
    "blockSize": NUMBER,
    "options": [TEXT],
    "allowDiscards": FLAG,
}
_PROVISIONING: Shape = {"diskSelector": {"match": TEXT}, "grow": FLAG, "minSize": TEXT, "maxSize": TEXT}
_SCHEMATIC: Shape = {
    "owner": TEXT,
    "overlay": {"image": TEXT, "name": TEXT, "options": FREE},
    "customization": {
        "embeddedMachineConfiguration": TEXT,
        "extraKernelArgs": [TEXT],
        "meta": [{"key": NUMBER, "value": TEXT}],
        "systemExtensions": {"officialExtensions": [TEXT]},
        "bootloader": TEXT,
        "secureboot": {"enrollKeys": TEXT, "includeWellKnownCertificates": FLAG},
        "diskImage": {"sectorSize": NUMBER},
    },
}

# What may stand at a node and in the groups `controlPlane` and `worker`.
SETTINGS: dict[str, Shape] = {
    "nodeLabels": TEXTS,
    "nodeAnnotations": TEXTS,
    "nodeTaints": TEXTS,
    "machineDisks": [{"device": TEXT, "partitions": [{"size": SCALAR, "mountpoint": TEXT}]}],
    "machineFiles": [{"content": TEXT, "permissions": SCALAR, "path": TEXT, "op": TEXT, "skipEnvsubst": FLAG}],
    "disableSearchDomain": FLAG,
    "kernelModules": [{"name": TEXT, "parameters": [TEXT]}],
    "nameservers": [TEXT],
    "networkInterfaces": [_INTERFACE],
    "extraManifests": [TEXT],
    "certSANs": [TEXT],
    "patches": [TEXT],
    "talosImageURL": TEXT,
    "noSchematicValidate": FLAG,
    "schematic": _SCHEMATIC,
    "imageSchematic": _SCHEMATIC,
    "machineSpec": {
        "mode": TEXT,
        "arch": TEXT,
        "secureboot": FLAG,
        "useUKI": FLAG,
        "bootMethod": TEXT,
        "imageSuffix": TEXT,
    },
    "ingressFirewall": {
        "defaultAction": TEXT,
        "rules": [
            {
                "name": TEXT,
                "portSelector": {"ports": [SCALAR], "protocol": TEXT},
                "ingress": [{"subnet": TEXT, "except": TEXT}],
            }
        ],
    },
    "extensionServices": [
        {"name": TEXT, "configFiles": [{"content": TEXT, "mountPath": TEXT}], "environment": [TEXT]},
    ],
    "volumes": [{"name": TEXT, "provisioning": _PROVISIONING, "encryption": _ENCRYPTION}],
    "userVolumes": [
        {
            "name": TEXT,
            "volumeType": TEXT,
            "provisioning": _PROVISIONING,
            "filesystem": {"type": TEXT, "projectQuotaSupport": FLAG},
            "encryption": _ENCRYPTION,
        }
    ],
    "filenameTmpl": TEXT,
}

NODE: dict[str, Shape] = {
    "hostname": TEXT,
    "ipAddress": TEXT,
    "controlPlane": FLAG,
    "installDisk": TEXT,
    "installDiskSelector": dict.fromkeys(
        ("size", "name", "model", "serial", "modalias", "uuid", "wwid", "type", "busPath"), TEXT
    ),
    "ignoreHostname": FLAG,
    "overridePatches": FLAG,
    "overrideExtraManifests": FLAG,
    "overrideMachineCertSANs": FLAG,
    **SETTINGS,
}

TALCONFIG: dict[str, Shape] = {
    "clusterName": TEXT,
    "talosVersion": TEXT,
    "kubernetesVersion": TEXT,
    "endpoint": TEXT,
    "domain": TEXT,
    "allowSchedulingOnMasters": FLAG,
    "allowSchedulingOnControlPlanes": FLAG,
    "additionalMachineCertSans": [TEXT],
    "additionalApiServerCertSans": [TEXT],
    "inlineManifests": [{"name": TEXT, "contents": TEXT, "skipEnvsubst": FLAG}],
    "clusterPodNets": [TEXT],
    "clusterSvcNets": [TEXT],
    "cniConfig": {
        "name": TEXT,
        "urls": [TEXT],
        "flannel": {"extraArgs": [TEXT], "kubeNetworkPoliciesEnabled": FLAG},
    },
    "patches": [TEXT],
    "nodes": [NODE],
    "imageFactory": dict.fromkeys(
        ("registryURL", "schematicEndpoint", "protocol", "installerURLTmpl", "ISOURLTmpl"), TEXT
    ),
    "controlPlane": SETTINGS,
    "worker": SETTINGS,
}
