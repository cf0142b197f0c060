"""No form of a secret gets into a file that is handed on, and what is public stays readable."""

from __future__ import annotations

import base64
import json
import textwrap
from collections.abc import Callable
from urllib.parse import quote

import pytest

from talosmith.desired import pki
from talosmith.support.scrub import Scrubber

TOKEN = "abcdef.0123456789abcdef"
PASSWORD = "s3cr/t+päss=w"
AUTHORITY = pki.new_authority("etcd", pki.KeyKind.ECDSA_P256)
KEY = AUTHORITY.key.reveal()
BODY = "".join(KEY.splitlines()[1:-1])
CONFIG_KEY = pki.to_base64(KEY)
CONFIG_CERTIFICATE = pki.to_base64(AUTHORITY.certificate)
SCRUBBER = Scrubber([TOKEN, PASSWORD, CONFIG_KEY], [CONFIG_CERTIFICATE])


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("secret", [TOKEN, PASSWORD, CONFIG_KEY, KEY], ids=["token", "password", "config", "pem"])
@pytest.mark.parametrize(
    "written",
    [
        str,
        lambda text: json.dumps({"value": text}),
        lambda text: json.dumps(json.dumps({"value": text})).replace("/", "\\/"),
        lambda text: f"https://node/?q={quote(text, safe='')}",
        _base64,
        lambda text: _base64(f"a: {text}\n"),
        lambda text: _base64(f"ab: {text}\n"),
        lambda text: _base64(f"abc: {text}\n"),
        lambda text: _base64(f"a: {text}\n").replace("+", "-").replace("/", "_"),
    ],
    ids=["plain", "json", "json in json", "url", "base64", "base64+1", "base64+2", "base64+3", "url-safe"],
)
def test_a_secret_is_masked_however_it_is_written(secret: str, written: Callable[[str], str]) -> None:
    line = f"before {written(secret)} after\n".encode()
    scrubbed, count = SCRUBBER.scrub(line)
    assert SCRUBBER.leaks(line)
    assert not SCRUBBER.leaks(scrubbed)
    assert count and scrubbed.startswith(b"before ") and scrubbed.endswith(b" after\n")
    for start in range(0, len(BODY) - 20, 7):
        assert BODY[start : start + 20].encode() not in scrubbed


@pytest.mark.parametrize(
    "text",
    [
        CONFIG_KEY[50:90],
        "\n".join(textwrap.wrap(CONFIG_KEY, 40)),
        BODY[11:40],
        base64.b64decode(BODY).hex(),
        base64.b64decode(BODY).hex(":").upper(),
        TOKEN.partition(".")[2],
    ],
    ids=["cut off", "wrapped", "part of a line", "hex", "hex with colons", "second half of a token"],
)
def test_a_part_of_a_key_is_masked(text: str) -> None:
    scrubbed, count = SCRUBBER.scrub(f"x {text} y".encode())
    assert count
    assert not any(part.encode() in scrubbed for part in textwrap.wrap(text.replace("\n", ""), 16) if len(part) == 16)


OTHER = pki.new_authority("other", pki.KeyKind.ED25519).key.reveal()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (OTHER, "REDACTED"),
        (f"key: {pki.to_base64(OTHER)}", "key: REDACTED"),
        ("token zyxwvu.9876543210zyxwvu used", "token REDACTED used"),
        ("Authorization: Bearer abcdefghijklmnop.qrstuv", "Authorization: Bearer REDACTED"),
        ("proxy http://user:hunter22@10.0.0.1:3128", "proxy http://user:REDACTED@10.0.0.1:3128"),
        ('{"password": "hunter22"}', '{"password": "REDACTED"}'),
        ("AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQ", "REDACTED"),
        ("jwt eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJlMTIz", "jwt REDACTED"),
    ],
)
def test_what_looks_like_a_secret_is_masked_though_it_is_not_known(line: str, expected: str) -> None:
    assert SCRUBBER.scrub(line.encode())[0].decode().strip() == expected


@pytest.mark.parametrize(
    "line",
    [
        CONFIG_CERTIFICATE,
        AUTHORITY.certificate,
        '2026-11-16T23:42:41Z {"level":"info","msg":"added member","member-id":"bd7abada93838b97"}',
        "service[kubelet](Running): Health check successful",
        "token: '******'",
    ],
)
def test_what_is_public_stays(line: str) -> None:
    assert SCRUBBER.scrub(line.encode()) == (line.encode(), 0)
