"""Where identities are found, and how new ones are made."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from talosmith import sops
from talosmith.errors import SecretsError
from talosmith.sops import Creation, Identities, bech32, hybrid
from talosmith.sops.age import new_key


def recipients(identities: Identities) -> list[str]:
    return [identity.recipient for identity in identities.found]


def recipient_of(key: str) -> str:
    return sops.parse_identity(key, "a test").recipient


def test_identities_come_from_all_places(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_text, also_in_text, in_file, in_default = (new_key() for _ in range(4))
    monkeypatch.setenv("SOPS_AGE_KEY", f"# public key: age1\n{in_text}  {also_in_text}\n")
    key_file = tmp_path / "keys.txt"
    key_file.write_text(f"# created: then\n\n{in_file}\n")
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(key_file))
    default = own_home / ".config" / "sops" / "age" / "keys.txt"
    default.parent.mkdir(parents=True)
    default.write_text(in_default)
    found = sops.find_identities()
    assert recipients(found) == [recipient_of(key) for key in (in_text, also_in_text, in_file, in_default)]
    assert found.looked_at == (
        "SOPS_AGE_KEY (2 identities)",
        f"SOPS_AGE_KEY_FILE={key_file} (1 identity)",
        f"{default} (1 identity)",
    )


def test_a_given_file_is_the_only_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY", new_key())
    key = new_key()
    (tmp_path / "keys.txt").write_text(key)
    assert recipients(sops.find_identities(tmp_path / "keys.txt")) == [recipient_of(key)]


@pytest.mark.parametrize(
    ("platform", "configured", "expected"),
    [
        ("linux", None, ".config/sops/age/keys.txt"),
        ("linux", "xdg", "xdg/sops/age/keys.txt"),
        ("darwin", None, "Library/Application Support/sops/age/keys.txt"),
        ("darwin", "xdg", "xdg/sops/age/keys.txt"),
    ],
)
def test_the_default_file_is_where_sops_has_it(
    platform: str, configured: str | None, expected: str, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    if configured:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(own_home / configured))
    assert sops.default_key_file() == own_home / expected


def test_without_any_the_places_are_listed(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY_CMD", "touch made")
    found = sops.find_identities()
    assert found.found == ()
    assert [place.split(" (")[1] for place in found.looked_at] == [
        "not set)",
        "not set)",
        "missing)",
        "set, but talosmith runs no commands for keys)",
    ]


@pytest.mark.parametrize("line", ["AGE-SECRET-KEY-1NONSENSE", "AGE-SECRET-KEY-PQ-1NONSENSE", "password", "age1abc"])
def test_what_is_not_an_identity_is_said_without_showing_it(line: str, tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"
    path.write_text(f"# comment\n{line}\n")
    with pytest.raises(SecretsError, match=f"line 2 of {path} is not an age identity") as caught:
        sops.find_identities(path)
    assert line not in str(caught.value)
    assert "AGE-SECRET-KEY-1…" in caught.value.hint


def test_keys_that_only_sops_can_use_are_skipped_and_named(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"
    key = new_key()
    path.write_text(f"AGE-PLUGIN-YUBIKEY-1QQQ\n{key}\n")
    found = sops.find_identities(path)
    assert recipients(found) == [recipient_of(key)]
    assert "an age plugin" in found.looked_at[0]
    path.write_text("-----BEGIN AGE ENCRYPTED FILE-----\nabc\n-----END AGE ENCRYPTED FILE-----\n")
    assert "a passphrase" in sops.find_identities(path).looked_at[0]


@pytest.mark.parametrize("name", ["SOPS_AGE_KEY_FILE", "SOPS_AGE_SSH_PRIVATE_KEY_FILE"])
def test_a_named_file_that_is_missing_is_an_error(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, str(tmp_path / "missing"))
    with pytest.raises(SecretsError, match="missing") as caught:
        sops.find_identities()
    assert caught.value.hint


def test_a_key_file_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(SecretsError, match="it is not text"):
        sops.find_identities(tmp_path / "keys.txt")


@pytest.mark.parametrize("post_quantum", [False, True])
def test_a_new_key_file_is_like_that_of_age_keygen(post_quantum: bool, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "keys.txt"
    recipient = sops.new_identity(path, post_quantum=post_quantum)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == path.parent.parent.stat().st_mode & 0o777 == 0o700
    created, public, key = path.read_text().splitlines()
    assert re.fullmatch(r"# created: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[-+]\d\d:\d\d)", created)
    assert public == f"# public key: {recipient}"
    assert key.startswith("AGE-SECRET-KEY-PQ-1" if post_quantum else "AGE-SECRET-KEY-1")
    assert recipients(sops.find_identities(path)) == [recipient]
    with pytest.raises(SecretsError, match="already exists"):
        sops.new_identity(path)
    assert path.read_text().splitlines()[2] == key


def test_a_new_key_goes_to_the_default_place(own_home: Path) -> None:
    recipient = sops.new_identity()
    assert recipients(sops.find_identities()) == [recipient]


def ssh_key(folder: Path) -> tuple[Path, str]:
    key = Ed25519PrivateKey.generate()
    path = folder / "id_ed25519"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    return path, key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def test_ssh_keys_are_identities_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, recipient = ssh_key(tmp_path)
    monkeypatch.setenv("SOPS_AGE_SSH_PRIVATE_KEY_FILE", str(path))
    text = sops.encrypt([{"a": "1"}], Creation((recipient,)), "yaml")
    assert sops.decrypt(text, "yaml").documents == [{"a": "1"}]


def test_a_label_that_lies_does_not_hide_the_right_key(identities: Identities, creation: Creation) -> None:
    text = sops.encrypt([{"a": "1"}], creation, "yaml")
    other = recipient_of(new_key())
    renamed = text.replace(creation.recipients[0], other)
    assert sops.decrypt(renamed, "yaml", identities).documents == [{"a": "1"}]


def test_post_quantum_and_other_recipients_stand_side_by_side(identities: Identities, creation: Creation) -> None:
    key = hybrid.new_key()
    both = Creation((recipient_of(key), creation.recipients[0]))
    text = sops.encrypt([{"a": "1"}], both, "yaml")
    for one in (Identities((sops.parse_identity(key, "a test"),)), identities):
        assert sops.decrypt(text, "yaml", one).documents == [{"a": "1"}]
    with pytest.raises(SecretsError, match=r"age1pq1.{10,20}…, age1") as caught:
        sops.decrypt(text, "yaml", Identities((sops.parse_identity(hybrid.new_key(), "a test"),)))
    assert len(str(caught.value)) < 200  # a post-quantum recipient has 1,960 characters


@pytest.mark.parametrize("at", [3, 40, 300, 1500])
def test_a_changed_post_quantum_wrapping_does_not_open(at: int) -> None:
    key = hybrid.new_key()
    wrapped = hybrid.wrap(b"k" * 32, recipient_of(key))
    assert hybrid.unwrap(wrapped, key) == b"k" * 32
    lines = wrapped.split("\n")
    body = "".join(lines[1:-2])
    body = body[:at] + ("A" if body[at] != "A" else "B") + body[at + 1 :]
    changed = "\n".join([lines[0], body, lines[-2]])
    with suppress(ValueError):
        assert hybrid.unwrap(changed, key) is None


def test_without_a_new_cryptography_post_quantum_keys_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    key = hybrid.new_key()
    recipient = recipient_of(key)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hpke", None)
    tries: list[Callable[[], object]] = [
        hybrid.new_key,
        lambda: sops.parse_identity(key, "a test"),
        lambda: sops.encrypt([{"a": "1"}], Creation((recipient,)), "yaml"),
    ]
    for attempt in tries:
        with pytest.raises(SecretsError, match="newer `cryptography`") as caught:
            attempt()
        assert "X25519" in caught.value.hint


def test_bech32_is_that_of_bip_173() -> None:
    assert bech32.encode("a", b"") == "a12uel5l"
    assert bech32.decode("A", "A12UEL5L") == b""
    assert bech32.decode("age1pq", bech32.encode("age1pq", bytes(range(256)) * 5)) == bytes(range(256)) * 5


@pytest.mark.parametrize("text", ["a12uel5L", "a12uel5m", "b12uel5l", "a1b", "", "a1qqqqqqqqqqqqqqqq"])
def test_wrong_bech32_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"case|checksum|prefix|padding"):
        bech32.decode("a", text)
