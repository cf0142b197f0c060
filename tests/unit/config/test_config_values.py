"""Values as Go reads and writes them."""

from __future__ import annotations

import math

import pytest

from talosmith import govalues
from talosmith.desired.config.schema.gourl import check_endpoint, merge_urls, parse_url
from talosmith.yaml.go_words import resolve


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("90s", "1m30s"), ("1h", "1h0m0s"), ("1.5s", "1.5s"), ("100us", "100µs"), ("1500ms", "1.5s"), ("0", "0s"),
        ("-3m", "-3m0s"), ("1h0.5m", "1h0m30s"), (".5ms", "500µs"), ("+2ns", "2ns"),
    ],
)  # fmt: skip
def test_durations(text: str, written: str) -> None:
    assert govalues.format_duration(govalues.parse_duration(text)) == written


@pytest.mark.parametrize("text", ["", "5", "s", "1d", "1 s", "1s ", "--1s", "300000000h"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        govalues.parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("10", 10), ("10 GB", 10**10), ("1.5GiB", 3 * 2**29), ("1,000k", 10**6), ("2tib", 2**41), ("7B", 7)],
)
def test_sizes(text: str, size: int) -> None:
    assert govalues.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1 lightyear", "1e30", "20EB", "1.2.3"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="size"):
        govalues.parse_size(text)


def test_addresses_have_one_form() -> None:
    assert govalues.address("2001:DB8:0:0::1") == "2001:db8::1"
    assert govalues.address("::ffff:192.0.2.1") == "::ffff:192.0.2.1"
    assert govalues.prefix("192.0.2.7/24") == "192.0.2.7/24"
    assert govalues.address_port("[2001:DB8::1]:080") == "[2001:db8::1]:80"


@pytest.mark.parametrize(
    "text", ["192.0.2.1", "192.0.2.1/33", "192.0.2.1/024", "192.0.2.01/24", "fe80::1%eth0/64", "/24"]
)
def test_what_is_no_prefix(text: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        govalues.prefix(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True), ("yes", "yes"), ("~", None), ("", None), ("0x1F", 31), ("0o17", 15), ("017", 15),
        ("1_000", 1000), ("1e3", 1000.0), (".5", 0.5), ("-.inf", -math.inf), ("08", 8.0), ("0b101", 5), ("+5", 5),
        ("1.2.3", "1.2.3"),
        ("18446744073709551615", 2**64 - 1), ("18446744073709551616", 1.8446744073709552e19),
        ("2026-01-01", "2026-01-01"), ("1:30", "1:30"), ("0xg", "0xg"), ("-", "-"), ("1e999", "1e999"),
    ],
)  # fmt: skip
def test_plain_scalars(text: str, value: object) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "https://a:6443/p?q=1#f",
        "HTTPS://a",
        "https://u:p@a/",
        "mailto:x",
        "/path",
        "https://[2001:db8::1]:6443",
        "a?",
        "",
    ],
)
def test_urls_read_and_written(text: str) -> None:
    scheme, colon, rest = text.partition(":")
    assert str(parse_url(text)) == (scheme.lower() if colon else scheme) + colon + rest


@pytest.mark.parametrize(
    "text", ["192.0.2.1:6443", ":x", "https://a:b", "https://[::1", "https://a b/", "https://a/%zz", "a\nb"]
)
def test_what_is_no_url(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_url(text)


def test_urls_are_merged_part_by_part() -> None:
    assert merge_urls("https://a:1/p?q", "http://b") == "http://b/p?q"
    with pytest.raises(ValueError, match="user"):
        merge_urls("https://u@a", "https://v@b")


@pytest.mark.parametrize(
    "text", ["/path", "https://:6443", "https://a:0", "https://a:65536", "https://2001:db8::1:6443"]
)
def test_endpoints_need_a_host_and_a_port_in_range(text: str) -> None:
    with pytest.raises(ValueError, match=r"host name|port|brackets"):
        check_endpoint(text)
