"""Which changes need a reboot. The table itself is held against a real node in tests/real/talos."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.desired.config.reboot import needs_reboot, reboot_reasons, refused_without_reboot
from talosmith.desired.config.reboot_rules import RULES
from talosmith.desired.config.schema.documents import Document
from talosmith.model.versions import Version

NEW = Version.parse("v1.13.9")


def documents(machine: dict[str, Any], *others: Document, **cluster: Any) -> list[Document]:
    return [{"version": "v1alpha1", "machine": {"type": "worker", **machine}, "cluster": cluster}, *others]


def test_nothing_changed_needs_nothing() -> None:
    assert needs_reboot(documents({"env": {"a": "b"}}), documents({"env": {"a": "b"}}), NEW) == ()


def test_all_fields_that_need_it_are_named() -> None:
    before = documents({"features": {"rbac": True, "kubePrism": {"enabled": True}}}, clusterName="a")
    after = documents(
        {"features": {"kubePrism": {"enabled": False}}, "sysctls": {"a": "b"}, "env": {"a": "b"}, "udev": {}},
        {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "hostname": "x"},
        clusterName="b",
    )
    assert set(needs_reboot(before, after, NEW)) == {"machine.env", "machine.udev", "machine.features.rbac"}


def test_features_that_come_as_a_whole_need_it() -> None:
    """Talos looks into them only where both configs have them."""
    after = documents({"features": {"kubePrism": {"enabled": True}}})
    assert needs_reboot(documents({}), after, NEW) == ("machine.features",)


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ({"token": ""}, {}, False),
        ({"env": {}}, {}, True),
        ({"files": []}, {}, True),
        ({"features": {"rbac": False}}, {"features": {}}, True),  # for Talos, no answer is not a no
        ({"files": [{"path": "/a"}]}, {"files": [{"path": "/a", "content": ""}]}, False),
        ({"files": [{"path": "/a"}]}, {"files": [{"path": "/b"}]}, True),
        ({"baseRuntimeSpecOverrides": {"a": [1]}}, {"baseRuntimeSpecOverrides": {"a": [2]}}, True),
    ],
)
def test_fields_are_compared_as_talos_does(one: dict[str, Any], other: dict[str, Any], differs: bool) -> None:
    assert bool(needs_reboot(documents(one), documents(other), NEW)) is differs
    assert bool(needs_reboot(documents(other), documents(one), NEW)) is differs


def test_an_older_talos_takes_less_at_once() -> None:
    after = documents({"features": {"nodeAddressSortAlgorithm": "v2"}})
    before = documents({"features": {}})
    assert needs_reboot(before, after, NEW) == ()
    assert needs_reboot(before, after, Version.parse("v1.9.6")) == ("machine.features.nodeAddressSortAlgorithm",)


LATEST = Version.parse("v1.14.1")


def document(kind: str, **fields: Any) -> Document:
    return {"apiVersion": "v1alpha1", "kind": kind, **fields}


VOLUME = document("UserVolumeConfig", name="data", provisioning={"maxSize": "10GiB"})
MODULE = {"name": "nbd", "parameters": ["nbds_max=64"]}


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        # live in 1.14, with a reboot before
        (documents({"udev": {"rules": ["a"]}}), documents({}), ()),
        (documents({"token": "a"}), documents({"token": "b"}), ()),
        (documents({"baseRuntimeSpecOverrides": {"a": 1}}), documents({}), ()),
        (documents({"features": {"rbac": True}}), documents({"features": {}}), ()),
        # what 1.14 does only at boot
        (documents({"files": [{"path": "/var/a"}]}), documents({}), ("machine.files[0]",)),
        (documents({"disks": [{"device": "/dev/sdb"}]}), documents({}), ("machine.disks",)),
        (
            documents({"features": {"diskQuotaSupport": True}}),
            documents({"features": {}}),
            ("machine.features.diskQuotaSupport",),
        ),
        (documents({"features": {"diskQuotaSupport": False}}), documents({"features": {}}), ()),
        (documents({"install": {"image": "a:v1"}}), documents({"install": {"image": "a:v2"}}), ()),
    ],
)
def test_1_14_accepts_everything_and_does_some_of_it_at_boot(
    before: list[Document], after: list[Document], places: tuple[str, ...]
) -> None:
    assert refused_without_reboot(before, after, LATEST) == ()
    assert needs_reboot(before, after, LATEST) == places


def test_the_cri_customization_among_files_is_taken_at_once_from_1_14_on() -> None:
    after = documents({"files": [{"path": "/etc/cri/conf.d/20-customization.part", "content": "a"}]})
    assert needs_reboot(documents({}), after, LATEST) == ()
    assert needs_reboot(documents({}), after, NEW) == ("machine.files",)


@pytest.mark.parametrize("version", [NEW, LATEST])
@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        # modules: loaded at once, never unloaded
        ([], [{"modules": [MODULE]}], ()),
        ([{"modules": [MODULE]}], [], ("machine.kernel.modules[0]",)),
        ([{"modules": [MODULE]}], [{"modules": [{"name": "nbd"}]}], ("machine.kernel.modules[0]",)),
    ],
)
def test_a_loaded_module_stays_as_it_is_until_a_reboot(
    version: Version, before: list[Any], after: list[Any], places: tuple[str, ...]
) -> None:
    old, new = (documents({"kernel": kernel[0]} if kernel else {}) for kernel in (before, after))
    assert needs_reboot(old, new, version) == places
    assert refused_without_reboot(old, new, version) == ()


def test_etcd_reads_its_settings_when_it_starts() -> None:
    before = documents({}, etcd={"extraArgs": {"a": "b"}})
    after = documents({}, etcd={"extraArgs": {"a": "c"}})
    assert needs_reboot(before, after, LATEST) == ()  # a worker has no etcd
    for config in (before, after):
        config[0]["machine"]["type"] = "controlplane"  # type: ignore[index]
    assert needs_reboot(before, after, LATEST) == needs_reboot(before, after, NEW) == ("cluster.etcd",)
    assert "does not restart it" in reboot_reasons(before, after, LATEST)["cluster.etcd"]


@pytest.mark.parametrize(
    ("fields", "places"),
    [
        ({"provisioning": {"maxSize": "20GiB"}}, ("UserVolumeConfig/data/provisioning.maxSize",)),
        ({"provisioning": {"maxSize": "10GiB", "minSize": "1GiB"}}, ()),  # only when it is created
        ({"provisioning": {"maxSize": "10GiB"}, "mount": {"secure": True}}, ()),  # the default
        ({"provisioning": {"maxSize": "10GiB"}, "mount": {"secure": False}}, ("UserVolumeConfig/data/mount.secure",)),
        ({"provisioning": {"maxSize": "10GiB"}, "trim": {"enabled": True}}, ()),
    ],
)
def test_an_existing_volume_is_changed_at_boot(fields: dict[str, Any], places: tuple[str, ...]) -> None:
    after = documents({}, document("UserVolumeConfig", name="data", **fields))
    assert needs_reboot(documents({}, VOLUME), after, LATEST) == places
    assert needs_reboot(documents({}), after, LATEST) == ()  # created while the node runs
    assert needs_reboot(after, documents({}), LATEST) == ()  # and unmounted


def test_system_volumes_exist_with_or_without_a_document() -> None:
    keys = [{"slot": 0, "nodeID": {}}]
    after = documents({}, document("VolumeConfig", name="STATE", encryption={"provider": "luks2", "keys": keys}))
    assert needs_reboot(documents({}), after, LATEST) == ("VolumeConfig/STATE/encryption",)
    assert needs_reboot(after, documents({}), LATEST) == ("VolumeConfig/STATE/encryption",)


def test_the_same_setting_in_another_form_is_no_change() -> None:
    encryption = {"provider": "luks2", "keys": [{"slot": 0, "nodeID": {}}]}
    before = documents(
        {"env": {"http_proxy": "http://a"}, "systemDiskEncryption": {"ephemeral": encryption}},
    )
    after = documents(
        {},
        document("EnvironmentConfig", variables={"http_proxy": "http://a"}),
        document("VolumeConfig", name="EPHEMERAL", encryption=encryption),
    )
    assert needs_reboot(before, after, LATEST) == ()
    other = documents({}, document("EnvironmentConfig", variables={"http_proxy": "http://b"}), *after[2:])
    assert needs_reboot(before, other, LATEST) == ("EnvironmentConfig/variables.http_proxy",)


def test_credentials_of_registries_need_a_reboot_up_to_1_13() -> None:
    after = documents({}, document("RegistryAuthConfig", name="ghcr.io", username="me", password="s"))
    assert needs_reboot(documents({}), after, NEW) == ("RegistryAuthConfig/ghcr.io",)
    assert needs_reboot(documents({}), after, LATEST) == ()
    legacy = documents({"registries": {"config": {"ghcr.io": {"auth": {"username": "me", "password": "s"}}}}})
    assert needs_reboot(documents({}), legacy, NEW) == ("machine.registries.config.ghcr.io.auth",)
    assert needs_reboot(legacy, after, NEW) == ()


def test_every_rule_says_why() -> None:
    assert all(rule.reason and rule.places for rule in RULES)
    assert all(rule.since < rule.until for rule in RULES)
