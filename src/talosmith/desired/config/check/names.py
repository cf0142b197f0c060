"""The names that Kubernetes and DNS accept."""

from __future__ import annotations

import re

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_NAME = re.compile("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_DNS_PART = "[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62}"
_DNS_NAME = re.compile(rf"({_DNS_PART})(\.{_DNS_PART})*[._]?")

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_subdomain(text: str) -> None:
    """A name of an object in Kubernetes."""
    if len(text.encode()) > 253 or not _SUBDOMAIN.fullmatch(text):
        raise ValueError("is not 1 to 253 lower-case letters, digits, dashes and dots, as names in Kubernetes are")


def check_qualified_name(text: str) -> None:
    """A key of a label, an annotation or a taint: a name, with or without a domain before it."""
    prefix, slash, name = text.rpartition("/")
    if slash and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        raise ValueError("has no valid domain before the slash of its key")
    if len(name) > 63 or not _NAME.fullmatch(name):
        raise ValueError("has a key that is not 1 to 63 letters, digits, dashes, dots and underscores")


def check_label_value(text: str) -> None:
    if text and (len(text.encode()) > 63 or not _NAME.fullmatch(text)):
        raise ValueError("has a value that is not 0 to 63 letters, digits, dashes, dots and underscores")


def check_taint(text: str) -> None:
    """A taint's value: an effect, with or without a value before it."""
    value, colon, effect = text.partition(":")
    if (effect if colon else value) not in TAINT_EFFECTS:
        raise ValueError(f"has an effect that is none of {', '.join(TAINT_EFFECTS)}")
    if colon:
        check_label_value(value)


def check_dns_name(text: str) -> None:
    if len(text.encode()) - text.count(".") > 255 or not _DNS_NAME.fullmatch(text):
        raise ValueError("is not a DNS name")
