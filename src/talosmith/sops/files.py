"""SOPS files on disk and in memory: opened, written, and re-encrypted for other recipients."""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from talosmith.errors import SecretsError
from talosmith.files.regular import FileTrouble, read_content
from talosmith.files.secret import write_secret
from talosmith.sops import age, metadata
from talosmith.sops.cipher import KEY_BYTES, Cipher
from talosmith.sops.creation import Creation, find_layout, find_rule
from talosmith.sops.identities import Identities, find_identities
from talosmith.sops.metadata import Metadata
from talosmith.sops.tree import Document, Kind, plain, settled
from talosmith.sops.walk import seal, unseal


@dataclass(frozen=True, slots=True)
class Opened:
    """A file in clear, with its comments, and how it was encrypted."""

    documents: list[Document] = field(repr=False)
    creation: Creation


def load(path: Path, identities: Identities | None = None) -> dict[str, Any]:
    """The data of a file with one document, without comments."""
    documents = load_all(path, identities)
    if len(documents) != 1:
        raise SecretsError(f"{path} has {len(documents)} documents, not one", hint="split the file")
    return documents[0]


def load_all(path: Path, identities: Identities | None = None) -> list[dict[str, Any]]:
    """The data of every document of a file, without comments."""
    opened = decrypt(_read(path), kind_of(path), identities, source=str(path), comments=False)
    return [plain(document) for document in opened.documents]


def open_file(path: Path, identities: Identities | None = None) -> Opened:
    """A file with its comments, to be changed and given to `save`."""
    opened = decrypt(_read(path), kind_of(path), identities, source=str(path))
    return replace(opened, creation=replace(opened.creation, layout=find_layout(path)))


def save(path: Path, data: Mapping[Any, Any] | Sequence[Mapping[Any, Any]], creation: Creation | None = None) -> None:
    """Encrypt one document or several into `path`, by `creation` or by the rule that `.sops.yaml` has for it."""
    documents = [data] if isinstance(data, Mapping) else data
    _refuse_to_lock_out(path)
    text = encrypt(documents, creation or find_rule(path), kind_of(path))
    write_secret(path, text.encode())


def encrypt_file(path: Path, creation: Creation | None = None) -> None:
    """Encrypt a file that is still in clear, in place."""
    documents = parse(_read(path), kind_of(path), str(path))
    save(path, documents, creation)


def rekey(path: Path, recipients: Sequence[str] = (), identities: Identities | None = None) -> tuple[str, ...]:
    """Re-encrypt a file, under a new data key, for `recipients` or those that `.sops.yaml` names now.

    The content and the rule that says what is sealed stay. Who could open the old file still knows what was in it.
    """
    opened = open_file(path, identities)
    wanted = tuple(recipients) or find_rule(path).recipients
    save(path, opened.documents, replace(opened.creation, recipients=wanted))
    return wanted


def _refuse_to_lock_out(path: Path) -> None:
    """An error if the file that is to be replaced opens with keys that we cannot encrypt for."""
    if not path.is_file():
        return
    try:
        block = metadata.split_off(parse(_read(path), kind_of(path), str(path), comments=False), str(path))
    except SecretsError:
        return  # not a SOPS file that can be opened
    if block.other_keys:
        raise SecretsError(
            f"{path} is also encrypted for {', '.join(block.other_keys)}; writing it would lock those out",
            hint="change it with `sops`, or remove the file first",
        )


def is_encrypted(path: Path) -> bool:
    """Whether the file has a `sops` block (it may still be broken)."""
    documents = parse(_read(path), kind_of(path), str(path), comments=False)
    return bool(documents) and metadata.BLOCK in documents[0]


def kind_of(path: Path) -> Kind:
    if path.suffix in (".yaml", ".yml"):
        return "yaml"
    if path.suffix == ".json":
        return "json"
    raise SecretsError(f"{path} is neither YAML nor JSON by its name", hint="use .yaml, .yml or .json")


def parse(text: str, kind: Kind, source: str, *, comments: bool = True) -> list[Document]:
    """The documents of a text as they are, sealed values sealed."""
    if kind == "json":
        from talosmith.sops.json_form import read_json

        return read_json(text, source)
    from talosmith.sops.yaml_reader import read_yaml

    return read_yaml(text, source, comments=comments)


def decrypt(
    text: str,
    kind: Kind,
    identities: Identities | None = None,
    *,
    source: str = "the text",
    comments: bool = True,
) -> Opened:
    """Open an encrypted text. Nothing is returned unless the MAC proves that it is what was encrypted."""
    documents = parse(text, kind, source, comments=comments)
    block = metadata.split_off(documents, source)
    if block.rule.by_comment and not comments:  # then the comments say what is sealed
        return decrypt(text, kind, identities, source=source)
    cipher = Cipher(_data_key(block, identities or find_identities(), source))
    opened, mac = unseal(documents, block.rule, cipher)
    stated, _ = cipher.open(block.mac, block.last_modified, f"the MAC of {source}") if block.mac else ("", "")
    if not hmac.compare_digest(stated.encode(), mac.encode()):
        raise SecretsError(
            f"the MAC of {source} does not match its content: it was changed without SOPS",
            hint="restore it from version control, or repeat the change with `sops edit`",
        )
    return Opened(opened, Creation(block.recipients, block.rule))


def _data_key(block: Metadata, identities: Identities, source: str) -> bytes:
    if not block.wrapped:
        raise SecretsError(
            f"{source} is encrypted for {', '.join(block.other_keys) or 'no key'}; talosmith opens age keys only",
            hint="add an age recipient with `sops rotate --in-place --add-age RECIPIENT FILE`",
        )
    key = age.unwrap(block.wrapped, identities.found)
    if key is None:
        raise SecretsError(
            f"no age identity opens {source}; it is encrypted for "
            + ", ".join([*map(age.shown, block.recipients), *block.other_keys]),
            hint="identities were looked for in "
            + (", ".join(identities.looked_at) or "the ones given")
            + "; set SOPS_AGE_KEY_FILE to the file with the right key",
        )
    if len(key) != KEY_BYTES:
        raise SecretsError(
            f"the data key of {source} has {len(key)} bytes, not {KEY_BYTES}",
            hint="restore the file from version control",
        )
    return key


def encrypt(documents: Sequence[Mapping[Any, Any]], creation: Creation, kind: Kind) -> str:
    """The text of an encrypted file. Anything that goes wrong is an error, and no text."""
    _check(documents, creation, kind)
    data_key = os.urandom(KEY_BYTES)
    wrapped = tuple((recipient, age.wrap(data_key, recipient)) for recipient in dict.fromkeys(creation.recipients))
    cipher = Cipher(data_key)
    sealed, mac = seal([settled(dict(document)) for document in documents], creation.rule, cipher)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    block = Metadata(wrapped, creation.rule, now, cipher.seal(mac, "str", now)).block()
    for document in sealed:
        document[metadata.BLOCK] = block
    if kind == "json":
        from talosmith.sops.json_form import write_json

        return write_json(sealed[0], creation.layout.json_indent)
    from talosmith.sops.yaml_writer import write_yaml

    return write_yaml(sealed, creation.layout.yaml_indent)


def _check(documents: Sequence[Mapping[Any, Any]], creation: Creation, kind: Kind) -> None:
    if not creation.recipients:
        raise SecretsError("no recipient to encrypt for", hint="name at least one age recipient")
    if not documents or (kind == "json" and len(documents) > 1):
        raise SecretsError(
            f"a {kind.upper()} file cannot hold {len(documents)} documents", hint="encrypt one document at a time"
        )
    if any(metadata.BLOCK in document for document in documents):
        raise SecretsError(
            "the data has a `sops` block: it is encrypted already",
            hint="decrypt it first; `sops` cannot be the name of a value",
        )


def _read(path: Path) -> str:
    try:
        return read_content(path, limit=-1).decode("utf-8-sig")
    except FileTrouble as trouble:
        if trouble.missing:
            raise SecretsError(f"{path} is missing", hint="check the path; nothing was made in its place") from None
        raise SecretsError(f"{path} {trouble}", hint=trouble.fix or "check the path and its permissions") from None
    except UnicodeDecodeError:
        raise SecretsError(f"{path} is not UTF-8 text", hint="is this the right file?") from None
