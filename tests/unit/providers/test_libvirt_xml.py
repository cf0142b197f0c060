"""What is written as libvirt's XML is read back as it was, by us and by libvirt itself."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talosmith.model.machines import Owner
from talosmith.providers.libvirt.domain import Domain, Link, read, render
from talosmith.providers.libvirt.networks import Network, read_network, render_network
from talosmith.providers.libvirt.storage import (
    Names,
    Pool,
    Volume,
    read_pool,
    read_volume,
    render_pool,
    render_volume,
    uuid_in,
)

# Everything that XML 1.0 can hold; the markup's own characters above all.
_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff")
    | st.sampled_from("<>&'\""),
    min_size=1,
    max_size=30,
).filter(lambda text: text == text.strip())
_PATHS = _TEXT.map(lambda text: f"/pool/{text}")
_UUIDS = st.uuids().map(str)
_OWNERS = st.builds(Owner, _TEXT, _TEXT)
_ROLES = st.sampled_from(["controlplane", "worker"])


@st.composite
def _domains(draw: st.DrawFn) -> Domain:
    bridged = draw(st.booleans())
    return Domain(
        name=draw(_TEXT),
        uuid=draw(_UUIDS),
        tags=draw(_OWNERS).tags(draw(_TEXT), draw(_ROLES)),
        address=draw(st.ip_addresses().map(str)),
        kind=draw(st.sampled_from(["kvm", "qemu", "test"])),
        arch=draw(st.sampled_from(["x86_64", "aarch64"])),
        machine=draw(st.sampled_from(["", "q35", "virt"])),
        cpu=draw(st.integers(1, 512)),
        ram_mib=draw(st.integers(1, 2**24)),
        cpu_model=draw(st.sampled_from(["", "host", "maximum", "EPYC-v4"])),
        disks=tuple(draw(st.lists(_PATHS, min_size=1, max_size=8))),
        seed=draw(st.just("") | _PATHS),
        mac="52:54:00:c1:00:01",
        link=Link("", draw(_TEXT)) if bridged else Link(draw(_TEXT)),
        uefi=draw(st.booleans()),
        tpm=draw(st.booleans()),
        console=draw(st.just("") | _PATHS),
    )


@pytest.mark.slow
@given(_domains())
def test_a_domain_is_read_as_it_was_written(domain: Domain) -> None:
    assert read(render(domain)) == domain


@given(st.builds(Volume, _TEXT, st.integers(0, 2**50), st.sampled_from(["raw", "qcow2"]), path=st.just("") | _PATHS),
       st.none() | st.tuples(_PATHS, st.sampled_from(["raw", "qcow2"])))  # fmt: skip
def test_a_volume_is_read_as_it_was_written(volume: Volume, below: tuple[str, str] | None) -> None:
    if below:
        volume = replace(volume, backing=below[0], backing_format=below[1])
    assert read_volume(render_volume(volume)) == volume


@given(st.builds(Pool, _TEXT, st.sampled_from(["dir", "logical"]), _PATHS))
def test_a_pool_is_read_as_it_was_written(pool: Pool) -> None:
    assert read_pool(render_pool(pool)) == pool


@given(
    st.builds(
        Network,
        _TEXT,
        st.none() | _OWNERS,
        st.sampled_from(["nat", "isolated"]),
        st.ip_addresses().map(str),
        st.integers(1, 128),
    )
)
def test_a_network_is_read_as_it_was_written(network: Network) -> None:
    assert read_network(render_network(network)) == network
    assert len(network.bridge) <= 15


@given(_TEXT, _UUIDS)
def test_volumes_are_known_by_their_names(node: str, identity: str) -> None:
    node = node.replace("/", "-")
    ours, twin = Owner("same", "0123456789abcdef"), Owner("same", "fedcba9876543210")
    names = Names(ours, node, identity)
    for name in (names.disk(0), names.disk(7), names.seed("ab" * 32), names.console):
        assert uuid_in(ours, name) == identity
        assert uuid_in(twin, name) == ""
    assert uuid_in(ours, f"somebodys-{node}.qcow2") == ""


def test_libvirt_takes_and_keeps_what_is_written(libvirt_library: Any) -> None:
    """Checked against its schema, and given back by it with everything in it that we wrote."""
    libvirt = libvirt_library
    connection = libvirt.open("test:///default")
    owner = Owner("a & b", "0123456789abcdef")
    domain = Domain(
        name="tested",
        uuid=str(uuid.UUID(int=7)),
        tags=owner.tags("w-1", "worker"),
        address="192.0.2.7",
        kind="test",
        arch="i686",
        machine="",
        cpu=3,
        ram_mib=3000,
        cpu_model="",
        disks=("/pool/a", "/pool/b"),
        seed="/pool/seed.iso",
        mac="52:54:00:c1:00:01",
        link=Link("default"),
        console="/pool/console.log",
    )
    for one in (domain, replace(domain, seed="", link=Link("", "br0"), tpm=True)):
        made = connection.defineXMLFlags(render(one), libvirt.VIR_DOMAIN_DEFINE_VALIDATE)
        assert read(made.XMLDesc(0)) == one
        made.undefine()
    network = Network("nodes", owner, "nat", "192.0.2.1", 24)
    made = connection.networkDefineXMLFlags(render_network(network), libvirt.VIR_NETWORK_DEFINE_VALIDATE)
    assert read_network(made.XMLDesc()) == network


def test_a_domain_of_somebody_else_is_nobodys(libvirt_library: Any) -> None:
    foreign = read(libvirt_library.open("test:///default").lookupByName("test").XMLDesc(0))
    assert foreign.name == "test" and not foreign.tags
    assert not foreign.is_of(Owner("", "")) and not foreign.is_of(Owner("dev", "0123456789abcdef"))
