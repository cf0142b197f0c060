"""Who calls: credentials that AWS accepts, of the inventory's account, from a computer whose clock is right."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from talosmith.errors import Permanent, TalosmithError
from talosmith.providers.aws.account import Identity, other_account
from talosmith.providers.aws.checks_base import error, ok, warning
from talosmith.providers.aws.client import AwsClient, boto3
from talosmith.providers.aws.failures import Credentials
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.base import Finding
from talosmith.waiting import limited

CREDENTIALS = "AWS credentials"
_FIRST = 8.0  # seconds for the first answer
_SKEW = 240  # seconds: AWS refuses calls at 300
_FROM_ENVIRONMENT = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE")


async def check_identity(client: AwsClient, settings: AwsSettings) -> tuple[Identity | None, list[Finding]]:
    """Without an identity nothing else can be said."""
    try:
        boto3()
    except Permanent as missing:
        return None, [error("boto3", str(missing), "provider aws", f"install boto3:\n{missing.hint}")]
    answer: Mapping[str, Any] = {}
    try:
        async with limited(_FIRST):
            answer = await client.call("sts", "get_caller_identity")
    except Credentials as refused:
        return None, [error(CREDENTIALS, str(refused), _source(client), refused.hint)]
    except TalosmithError as problem:
        return None, [error("AWS API", str(problem), _endpoint(client), _reachable(client))]
    if not answer:
        cause = f"no answer from AWS within {_FIRST:g} s"
        return None, [error("AWS API", cause, _endpoint(client), _reachable(client))]
    found = Identity(str(answer["Account"]), str(answer["Arn"]))
    shown = ok(CREDENTIALS, f"{found.arn}, account {found.account}, region {client.region}")
    wanted = settings.section.account_id
    if wanted is not None and wanted != found.account:
        other = other_account(wanted, found.account)
        return None, [error("AWS account", str(other), f"{found.arn}, {_source(client)}", other.hint)]
    return found, [shown, *_clock(answer)]


def _clock(answer: Mapping[str, Any]) -> list[Finding]:
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    try:
        there = parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return []
    difference = time.time() - there
    if abs(difference) <= _SKEW:
        return []
    direction = "ahead of" if difference > 0 else "behind"
    return [
        warning(
            "clock",
            f"the clock of this computer is {abs(difference):.0f} s {direction} that of AWS",
            f"AWS: {headers['date']}; AWS refuses calls from 300 s on (RequestTimeTooSkewed, SignatureDoesNotMatch)",
            "synchronize the clock by NTP:\nsudo timedatectl set-ntp true",
        )
    ]


def _source(client: AwsClient) -> str:
    """Where the credentials come from, without any of them."""
    if client.profile:
        return f"`aws.profile: {client.profile}`"
    found = next((name for name in _FROM_ENVIRONMENT if os.environ.get(name)), "")
    return f"credentials from {found}" if found else "default credentials: ~/.aws, or the instance's role"


def _endpoint(client: AwsClient) -> str:
    return f"sts:GetCallerIdentity in {client.region}"


def _reachable(client: AwsClient) -> str:
    host = f"https://sts.{client.region}.amazonaws.com"
    fix = f"correct `aws.region`, or make {host} reachable from this computer (HTTPS_PROXY for a proxy)"
    return f"{fix}:\ncurl -sSI {host}"
