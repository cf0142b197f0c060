from __future__ import annotations

import pytest

from talosmith.errors import UsageError
from talosmith.talos import Address


@pytest.mark.parametrize(
    ("text", "host", "port", "shown"),
    [
        ("10.5.0.2", "10.5.0.2", 50000, "10.5.0.2"),
        ("10.5.0.2:50001", "10.5.0.2", 50001, "10.5.0.2:50001"),
        ("fd00::2", "fd00::2", 50000, "fd00::2"),
        ("[fd00::2]", "fd00::2", 50000, "fd00::2"),
        ("[fd00::2]:443", "fd00::2", 443, "[fd00::2]:443"),
        ("fe80::1%eth0", "fe80::1%eth0", 50000, "fe80::1%eth0"),
        ("cp-1.example.org", "cp-1.example.org", 50000, "cp-1.example.org"),
        ("cp-1.example.org:50000", "cp-1.example.org", 50000, "cp-1.example.org"),
    ],
)
def test_the_ways_to_write_an_address(text: str, host: str, port: int, shown: str) -> None:
    address = Address.parse(text)
    assert (address.host, address.port, str(address)) == (host, port, shown)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":50000",
        "a b",
        "https://10.5.0.2",
        "me@host",
        "10.5.0.2:",
        "10.5.0.2:x",
        "10.5.0.2:0",
        "10.5.0.2:65536",
        "10.5.0.2:١",
        "[fd00::2",
        "[cp-1]:50000",
        "[fd00::2]50000",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not the address"):
        Address.parse(text)
