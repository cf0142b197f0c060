"""SOPS files with age keys, read and written in Python: the same files as the `sops` tool, in both directions.

No library does this, and starting `sops` for every file costs more than all of our reading. Heavy imports happen on
first use.
"""

from talosmith.sops.age import Identity, parse_identity
from talosmith.sops.creation import Creation, Layout, find_rule, find_rules_file, rules_text
from talosmith.sops.files import (
    Opened,
    decrypt,
    encrypt,
    encrypt_file,
    is_encrypted,
    load,
    load_all,
    open_file,
    parse,
    rekey,
    save,
)
from talosmith.sops.identities import Identities, default_key_file, find_identities, new_identity
from talosmith.sops.rule import Rule
from talosmith.sops.tree import Comment, Document, Kind, plain
from talosmith.yaml.go_words import Timestamp

__all__ = [
    "Comment",
    "Creation",
    "Document",
    "Identities",
    "Identity",
    "Kind",
    "Layout",
    "Opened",
    "Rule",
    "Timestamp",
    "decrypt",
    "default_key_file",
    "encrypt",
    "encrypt_file",
    "find_identities",
    "find_rule",
    "find_rules_file",
    "is_encrypted",
    "load",
    "load_all",
    "new_identity",
    "open_file",
    "parse",
    "parse_identity",
    "plain",
    "rekey",
    "rules_text",
    "save",
]
