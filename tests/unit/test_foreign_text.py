"""What others say is shown without their secrets, and without what a terminal acts on: the same everywhere."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from grpclib.const import Status
from hypothesis import given
from hypothesis import strategies as st

from talosmith.foreign_text import cleaned, escaped, escaped_line
from talosmith.helm import binary
from talosmith.helm.capabilities import capabilities
from talosmith.helm.errors import ChartError
from talosmith.helm.release import Release
from talosmith.kube.answers import from_answer
from talosmith.talos.grpc.failures import from_status

KEY = "LS0tLS1CRUdJTiBFRDI1NTE5IFBSSVZBVEUgS0VZLS0tLS0K"
TOKEN = "abcdef.0123456789abcdef"
SAID = f'invalid value \x1b[2J "{KEY}" and {TOKEN}'
SHOWN = r'invalid value \x1b[2J "***" and ***'


def test_a_node_and_an_api_server_are_quoted_alike() -> None:
    """An API server that refuses an object repeats what is in it, as a node does with a config."""
    node = from_status("cp-1", "apply", Status.INVALID_ARGUMENT, SAID)
    body = {"kind": "Status", "message": SAID, "reason": "Invalid", "details": {"causes": [{"message": SAID}]}}
    server = from_answer("https://10.0.0.1:6443", "ConfigMap a/b", 422, json.dumps(body).encode())
    proxy = from_answer("https://10.0.0.1:6443", "ConfigMap a/b", 503, SAID.encode())
    for error in (node, server, proxy):
        assert SHOWN in str(error)
        assert error.said == SHOWN
    assert server.causes[0].said == SHOWN


def test_what_helm_says_of_values(tmp_path: Path) -> None:
    helm = tmp_path / "helm"
    helm.write_text(f"#!/bin/sh\nprintf '%s' '{SAID}' >&2\nexit 1\n")
    helm.chmod(helm.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(ChartError) as caught:
        binary.render(str(helm), {}, Release("r", "n"), {}, capabilities())
    assert str(caught.value).endswith(SHOWN)


def test_paths_checksums_and_names_stay() -> None:
    words = (
        "/var/lib/kubelet/pki/kubelet-client-current.pem sha256:"
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 MutatingWebhookConfiguration"
    )
    assert cleaned(words) == words


def test_the_end_of_an_endless_answer() -> None:
    assert cleaned("x " * 10_000, 100) == "x " * 50 + " …"


def test_control_characters_are_written_out() -> None:
    assert escaped("a\x1b[2J\x9b\u202e\ud800\U000e0041\r\tb\nc✓é") == (
        r"a\x1b[2J\x9b\u202e\ud800\U000e0041\x0d" "\tb\nc✓é"
    )
    assert escaped_line("a\tb\nc") == r"a\tb\nc"


@given(st.text(st.characters(), max_size=80))
def test_whatever_it_is_it_can_be_printed(text: str) -> None:
    shown = escaped(text)
    assert all(character.isprintable() or character in "\t\n" or character.isspace() for character in shown)
    shown.encode()
