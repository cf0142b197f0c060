"""What Talos asks of the documents about registries and services."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from talosmith.desired.config.cel import check_expression
from talosmith.desired.config.check.findings import Findings, check_kind, complaint, error, missing, warning
from talosmith.desired.config.check.pem import check_certificate, check_certificates, check_pair, check_pkcs8_key
from talosmith.desired.config.schema.gourl import parse_url
from talosmith.govalues import parse_duration, split_host_port


@check_kind("RegistryMirrorConfig")
def _mirror(document: Any) -> Findings:
    yield from missing(document, "name")
    for index, one in enumerate(document.get("endpoints") or ()):
        if parse_url(one.get("url") or "").scheme not in ("http", "https"):
            yield error(f"endpoints[{index}].url", "is not an http:// or https:// address")


@check_kind("RegistryAuthConfig")
def _auth(document: Any) -> Findings:
    yield from missing(document, "name")
    if sum(bool(document.get(key)) for key in ("username", "auth", "identityToken")) > 1:
        yield error("auth", "has more than one of username, auth and identityToken")


@check_kind("RegistryTLSConfig")
def _tls(document: Any) -> Findings:
    yield from missing(document, "name")
    if document.get("ca"):
        yield from complaint("ca", check_certificates, document["ca"])


@check_kind("RegistryTLSConfig", until=(1, 13))
def _tls_identity(document: Any) -> Findings:
    identity = document.get("clientIdentity")
    if identity is not None:
        yield from complaint("clientIdentity.cert", check_certificate, identity.get("cert"))
        yield from complaint("clientIdentity.key", check_pkcs8_key, identity.get("key"))


@check_kind("RegistryTLSConfig", since=(1, 14))
def _tls_pair(document: Any) -> Findings:
    return check_pair("clientIdentity", document.get("clientIdentity"), loadable=False)


@check_kind("ImageVerificationConfig")
def _image_rules(document: Any) -> Findings:
    for index, rule in enumerate(document.get("rules") or ()):
        path = f"rules[{index}]"
        image = rule.get("image") or ""
        if not image:
            yield error(f"{path}.image", "is missing")
        elif "@" in image or ":" in image.partition("/")[2]:
            yield warning(f"{path}.image", "has a tag or digest, but only the repository is compared")
        verdicts = [key for key in ("skip", "deny") if rule.get(key)]
        verifiers = [key for key in ("keyless", "publicKey") if rule.get(key) is not None]
        if len(verdicts) + len(verifiers) != 1:
            yield error(path, "needs one of skip, deny, keyless and publicKey")
        keyless, public_key = rule.get("keyless"), rule.get("publicKey")
        if keyless is not None and not (
            keyless.get("issuer") and (keyless.get("subject") or keyless.get("subjectRegex"))
        ):
            yield error(f"{path}.keyless", "needs an issuer, and a subject or subjectRegex")
        if public_key is not None and not public_key.get("certificate"):
            yield error(f"{path}.publicKey.certificate", "is missing")


@check_kind("ImageVerificationConfig", until=(1, 13))
def _image_without_registry(document: Any) -> Findings:
    for index, rule in enumerate(document.get("rules") or ()):
        image = rule.get("image") or "*"
        if "/" not in image and image != "*":
            yield warning(f"rules[{index}].image", "has no slash, and images without one belong to docker.io")


@check_kind("ImageVerificationConfig", since=(1, 14))
def _image_that_matches_nothing(document: Any) -> Findings:
    """Images are compared with their registry in front, so a pattern that starts otherwise matches none."""
    for index, rule in enumerate(document.get("rules") or ()):
        start, glob, _ = (rule.get("image") or "*").partition("*")
        registry, slash, _ = start.partition("/")
        if not (set(".:") & set(registry) or registry.lower() == "localhost") if slash else not glob:
            yield warning(
                f"rules[{index}].image", "matches no image: a registry comes first, like docker.io/library/"
            )


@check_kind("ExtensionServiceConfig")
def _extension(document: Any) -> Findings:
    yield from missing(document, "name")
    files = document.get("configFiles") or ()
    if not files and not document.get("environment"):
        yield error("configFiles", "is empty, and there is no environment either")
    if any(not one.get("content") or not one.get("mountPath") for one in files):
        yield error("configFiles", "has one without content or mountPath")


@check_kind("SideroLinkConfig")
def _siderolink(document: Any) -> Findings:
    yield from complaint("apiUrl", _bare_url("https", "grpc"), document.get("apiUrl"))


@check_kind("KmsgLogConfig")
def _kmsg_log(document: Any) -> Findings:
    yield from missing(document, "name")
    yield from complaint("url", _bare_url("tcp", "udp"), document.get("url"))
    if not parse_url(document.get("url") or "").port:
        yield error("url", "has no port")


def _bare_url(*schemes: str) -> Callable[[str], None]:
    def check(text: str) -> None:
        url = parse_url(text)
        if url.scheme not in schemes or url.path not in ("", "/"):
            raise ValueError(f"is not a {' or '.join(f'{scheme}://' for scheme in schemes)} address without a path")

    return check


@check_kind("WatchdogTimerConfig")
def _watchdog(document: Any) -> Findings:
    yield from missing(document, "device")
    timeout = parse_duration(document.get("timeout") or "0s")
    if timeout and timeout < 10 * 10**9:
        yield error("timeout", "is less than 10s")


@check_kind("EventSinkConfig")
def _event_sink(document: Any) -> Findings:
    yield from complaint("endpoint", split_host_port, document.get("endpoint"))


@check_kind("OOMConfig")
def _oom(document: Any) -> Findings:
    for key, environment in (("triggerExpression", "oom-trigger"), ("cgroupRankingExpression", "oom-ranking")):
        if document.get(key):
            yield from complaint(key, partial(check_expression, environment=environment), document[key])
    if (document.get("sampleInterval") or "0s").startswith("-"):
        yield error("sampleInterval", "is negative")


@check_kind("EnvironmentConfig")
def _environment(document: Any) -> Findings:
    for name in document.get("variables") or {}:
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
            yield error(f'variables["{name}"]', "is not a name of letters, digits and underscores")
