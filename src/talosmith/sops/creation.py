"""`.sops.yaml`: for whom a new file is encrypted and which of its values."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from talosmith.errors import SecretsError
from talosmith.files.regular import FileTrouble, read_content
from talosmith.sops.regex import compiled
from talosmith.sops.rule import Rule, rule_from

RULES_FILE: Final = ".sops.yaml"
_OTHER_KEYS: Final = ("kms", "gcp_kms", "hckms", "azure_keyvault", "hc_vault_transit_uri", "hc_vault", "pgp")


@dataclass(frozen=True, slots=True)
class Layout:
    """How far nested values are indented."""

    yaml_indent: int = 4
    json_indent: int | str = "\t"


@dataclass(frozen=True, slots=True)
class Creation:
    """How a file is to be encrypted."""

    recipients: tuple[str, ...]
    rule: Rule = field(default_factory=Rule)
    layout: Layout = field(default_factory=Layout)


def find_rules_file(path: Path) -> Path | None:
    """The nearest `.sops.yaml` in the folder of `path` or above it."""
    folder = _absolute(path).parent
    return next((file for above in (folder, *folder.parents) if (file := above / RULES_FILE).is_file()), None)


def find_rule(path: Path, rules_file: Path | None = None) -> Creation:
    """The first creation rule that matches `path`, taken relative to the folder of the rules file."""
    file = rules_file or find_rules_file(path)
    if file is None:
        raise SecretsError(
            f"there is no {RULES_FILE} beside {path} or above it, so nothing says for whom to encrypt",
            hint="make one with `talosmith secrets init`",
        )
    content = _read(file)
    relative = os.path.relpath(_absolute(path), _absolute(file).parent)
    for number, rule in enumerate(_list(content.get("creation_rules"), file), 1):
        where = f"creation rule {number} of {file}"
        if not isinstance(rule, Mapping):
            raise _wrong(where, "is not a mapping")
        pattern = rule.get("path_regex") or ""
        if not isinstance(pattern, str):
            raise _wrong(where, "has a path_regex that is not a string")
        if not pattern or compiled(pattern).search(relative):
            return _creation(rule, where, _layout(content))
    raise SecretsError(
        f"no creation rule of {file} matches {relative}",
        hint="add a rule whose path_regex matches it, or correct one",
    )


def find_layout(path: Path) -> Layout:
    """What the rules file says about indents, whether or not it has a rule for `path`."""
    file = find_rules_file(path)
    return _layout(_read(file)) if file else Layout()


def rules_text(recipients: Sequence[str], path_regex: str = r"\.sops\.(ya?ml|json)$") -> str:
    """A new `.sops.yaml` with one rule that seals every value of the files it matches."""
    from talosmith.sops.yaml_writer import write_yaml

    return write_yaml([{"creation_rules": [{"path_regex": path_regex, "age": ",".join(recipients)}]}], indent=2)


def _read(file: Path) -> Mapping[str, Any]:
    from talosmith.sops.yaml_reader import read_yaml

    try:
        text = read_content(file, limit=-1).decode("utf-8-sig")
    except FileTrouble as trouble:
        raise SecretsError(f"{file} {trouble}", hint="check its permissions and content") from None
    except UnicodeDecodeError:
        raise SecretsError(f"{file} is not UTF-8 text", hint="check its content") from None
    documents = read_yaml(text, str(file))
    return documents[0] if documents else {}


def _creation(rule: Mapping[str, Any], where: str, layout: Layout) -> Creation:
    recipients = _recipients(_one_group(rule, where), where)
    if not recipients:
        raise _wrong(where, "names no age recipient")
    return Creation(recipients, rule_from(rule, where), layout)


def _one_group(rule: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The keys of the rule. A single key group is the same as none; more need Shamir's secret sharing."""
    groups = rule.get("key_groups")
    if not groups:
        return rule
    if not isinstance(groups, list) or len(groups) != 1 or not isinstance(groups[0], Mapping):
        raise SecretsError(
            f"{where} has key_groups, which talosmith does not write",
            hint="encrypt this file with `sops`, or list the recipients under `age`",
        )
    if groups[0].get("merge"):
        raise SecretsError(f"{where} merges key groups", hint="list the recipients under `age`")
    return groups[0]


def _recipients(keys: Mapping[str, Any], where: str) -> tuple[str, ...]:
    if other := [name for name in _OTHER_KEYS if keys.get(name)]:
        raise SecretsError(
            f"{where} asks for {', '.join(other)}; talosmith encrypts for age recipients only",
            hint="encrypt this file with `sops`, or remove those keys from the rule",
        )
    age = keys.get("age") or []
    lines = [age] if isinstance(age, str) else age
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise _wrong(where, "has an `age` that is neither text nor a list of texts")
    recipients = (recipient.strip() for line in lines for recipient in line.split(","))
    return tuple(dict.fromkeys(recipient for recipient in recipients if recipient))


def _layout(content: Mapping[str, Any]) -> Layout:
    def indent(kind: str) -> int:
        stores = content.get("stores")
        store = stores.get(kind) if isinstance(stores, Mapping) else None
        number = store.get("indent") if isinstance(store, Mapping) else None
        return number if isinstance(number, int) else -1

    yaml, json = indent("yaml"), indent("json")
    default = Layout()
    return Layout(yaml if yaml > 0 else default.yaml_indent, json if json >= 0 else default.json_indent)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  (symbolic links stay what they are, as in SOPS)


def _list(value: Any, file: Path) -> list[Any]:
    if value is None:
        raise SecretsError(f"{file} has no creation_rules", hint="add one, or recreate the file")
    if not isinstance(value, list):
        raise _wrong(str(file), "has creation_rules that are not a list")
    return value


def _wrong(where: str, what: str) -> SecretsError:
    return SecretsError(f"{where} {what}", hint=f"correct {RULES_FILE}")
