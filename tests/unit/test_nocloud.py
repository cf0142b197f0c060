"""The NoCloud seed: what its texts say, and the disk they come on."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pycdlib import PyCdlib

from talosmith.desired import nocloud
from talosmith.desired.nocloud import SeedNetwork
from talosmith.errors import UsageError

MAC = "52:54:00:AB:cd:01"


def test_a_static_address() -> None:
    network = SeedNetwork(
        MAC,
        addresses=("10.0.0.5/24", "fd00::5/64"),
        gateways=("10.0.0.1", "fd00::1"),
        nameservers=("10.0.0.1", "fd00::53"),
        mtu=9000,
    )
    assert nocloud.network_config([network]) == (
        "version: 2\n"
        "ethernets:\n"
        "    eth0:\n"
        "        match:\n"
        "            macaddress: 52:54:00:ab:cd:01\n"
        "        mtu: 9000\n"
        "        addresses:\n"
        "            - 10.0.0.5/24\n"
        "            - fd00::5/64\n"
        "        gateway4: 10.0.0.1\n"
        "        gateway6: fd00::1\n"
        "        nameservers:\n"
        "            addresses:\n"
        "                - 10.0.0.1\n"
        "                - fd00::53\n"
    )


def test_several_interfaces_and_a_vlan() -> None:
    networks = [
        SeedNetwork(MAC, dhcp=True),
        SeedNetwork(MAC, vlan=30, addresses=("10.30.0.5/24",), gateways=("10.30.0.1",), mtu=1400),
        SeedNetwork("52:54:00:ab:cd:02", "eth1", vlan=7, dhcp=True),
    ]
    assert yaml.safe_load(nocloud.network_config(networks)) == {
        "version": 2,
        "ethernets": {
            "eth0": {"match": {"macaddress": "52:54:00:ab:cd:01"}, "mtu": 1400, "dhcp4": True},
            "eth1": {"match": {"macaddress": "52:54:00:ab:cd:02"}},
        },
        "vlans": {
            "eth0.30": {
                "id": 30,
                "link": "eth0",
                "mtu": 1400,
                "addresses": ["10.30.0.5/24"],
                "gateway4": "10.30.0.1",
            },
            "eth1.7": {"id": 7, "link": "eth1", "dhcp4": True},
        },
    }


@pytest.mark.parametrize(
    ("networks", "message"),
    [
        ([SeedNetwork(gateways=("10.0.0.1", "10.0.0.2"))], "two gateways"),
        ([SeedNetwork(gateways=("10.0.0.1/24",))], "is not an IP address"),
        ([SeedNetwork(dhcp=True), SeedNetwork(addresses=("10.0.0.1/24",))], "given twice"),
    ],
)
def test_networks_that_cannot_be(networks: list[SeedNetwork], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        nocloud.network_config(networks)
    assert caught.value.hint


def test_the_config_is_passed_on_as_it_is_unless_talos_would_not_take_it() -> None:
    assert nocloud.user_data("version: v1alpha1\n") == "version: v1alpha1\n"
    for first in ("#cloud-config", "#include "):
        with pytest.raises(UsageError, match="would not be read"):
            nocloud.user_data(f"{first}\nversion: v1alpha1\n")


def test_the_seed_has_no_network_file_unless_there_is_something_in_it() -> None:
    assert nocloud.seed("cp-1", "config", []) == {
        "meta-data": b"instance-id: cp-1\nlocal-hostname: cp-1\n",
        "user-data": b"config",
    }
    seed = nocloud.seed("cp-1", "config", [SeedNetwork(MAC, dhcp=True)], instance_id="i-1")
    assert list(seed) == ["meta-data", "user-data", "network-config"]
    assert seed["meta-data"] == b"instance-id: i-1\nlocal-hostname: cp-1\n"


def parse(text: str) -> list[SeedNetwork]:
    """The networks of a network-config, as Talos reads it."""
    config = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 it makes text only

    def network(name: str, part: dict[str, Any], mac: str, vlan: int) -> SeedNetwork:
        return SeedNetwork(
            mac,
            name,
            part.get("dhcp4") == "true",
            tuple(part.get("addresses", ())),
            tuple(part[key] for key in ("gateway4", "gateway6") if key in part),
            tuple(part.get("nameservers", {}).get("addresses", ())),
            int(part.get("mtu", 0)),
            vlan,
        )

    macs = {name: part.get("match", {}).get("macaddress", "") for name, part in config["ethernets"].items()}
    tagged = {part["link"] for part in config.get("vlans", {}).values()}
    return [
        network(name, part, macs[name], 0) for name, part in config["ethernets"].items() if name not in tagged
    ] + [
        network(part["link"], part, macs[part["link"]], int(part["id"])) for part in config.get("vlans", {}).values()
    ]


hostile = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=15) | st.sampled_from(
    ["yes", "0x1f", "a: b", "- x", "1:30", "\n", " ", "'", '"}', "{}", "#", "eth0: {}\n", "2001-12-14", "~"]
)
plain_networks = st.builds(
    SeedNetwork,
    mac=st.just("") | hostile.filter(lambda text: text == text.lower()),
    name=hostile,
    dhcp=st.booleans(),
    addresses=st.lists(hostile, max_size=3).map(tuple),
    gateways=st.sampled_from([(), ("10.0.0.1",), ("fd00::1",), ("10.0.0.1", "fd00::1")]),
    nameservers=st.lists(hostile, max_size=3).map(tuple),
    mtu=st.sampled_from([0, 1400, 9000]),
    vlan=st.sampled_from([0, 1, 4094]),
)


@pytest.mark.slow
@given(st.lists(plain_networks, min_size=1, max_size=4, unique_by=lambda network: network.name))
def test_hostile_names_stay_names(networks: list[SeedNetwork]) -> None:
    expected = sorted(networks, key=lambda network: network.vlan != 0)
    assert parse(nocloud.network_config(networks)) == expected


@given(hostile, hostile)
def test_hostile_host_names_stay_names(hostname: str, instance_id: str) -> None:
    text = nocloud.meta_data(hostname, instance_id)
    assert yaml.load(text, Loader=yaml.BaseLoader) == {  # noqa: S506 it makes text only
        "instance-id": instance_id,
        "local-hostname": hostname,
    }


FILES = {"meta-data": b"instance-id: x\n", "user-data": b"config\n" * 5000, "network-config": b""}


def test_the_disk_holds_the_files_under_their_names_and_the_label_that_talos_looks_for() -> None:
    image = nocloud.iso(FILES)
    assert image[16 * 2048 + 40 : 16 * 2048 + 72] == b"cidata".ljust(32)
    disk = PyCdlib()
    disk.open_fp(io.BytesIO(image))
    try:
        for way in ("rr_path", "joliet_path"):
            names = [
                child.rock_ridge.name().decode() if way == "rr_path" else child.file_identifier().decode("utf-16-be")
                for child in disk.list_children(**{way: "/"})
                if not child.is_dot() and not child.is_dotdot()
            ]
            assert sorted(names) == sorted(FILES)
            for name, content in FILES.items():
                out = io.BytesIO()
                disk.get_file_from_iso_fp(out, **{way: f"/{name}"})
                assert out.getvalue() == content
    finally:
        disk.close()


def test_the_same_files_make_the_same_bytes_at_any_time_and_place(monkeypatch: pytest.MonkeyPatch) -> None:
    image = nocloud.iso(FILES)
    monkeypatch.setattr(time, "time", lambda: 1_000_000_000.0)
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert nocloud.iso(FILES) == image
    finally:
        monkeypatch.undo()
        time.tzset()
    assert nocloud.iso({**FILES, "user-data": b"other"}) != image


def test_only_plain_file_names_go_on_the_disk() -> None:
    for name in ("", "../x", "UPPER", "x" * 40, "a b"):
        with pytest.raises(UsageError, match="cannot be the name"):
            nocloud.iso({name: b""})
