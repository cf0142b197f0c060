"""Whose account it is: nothing is changed in an account that is not the inventory's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from talosmith.errors import Permanent
from talosmith.model.resources import Resource
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.settings import AwsSettings


@dataclass(frozen=True, slots=True)
class Identity:
    account: str
    arn: str


async def identity(client: AwsClient) -> Identity:
    asked = await client.call("sts", "get_caller_identity")
    return Identity(asked["Account"], asked["Arn"])


async def check_account(client: AwsClient, settings: AwsSettings, there: Sequence[Resource]) -> None:
    """A VPC of the cluster says whose it is; without one, AWS is asked."""
    wanted = settings.section.account_id
    if wanted is None:
        return
    known = {one.outputs["account"] for one in there if one.outputs.get("account")}
    if not known:
        known = {(await identity(client)).account}
    if known != {wanted}:
        raise other_account(wanted, ", ".join(sorted(known)))


def other_account(wanted: str, found: str) -> Permanent:
    return Permanent(
        f"the AWS credentials are of the account {found}, the inventory's is {wanted} (`aws.account_id`)",
        hint="choose the other account's credentials: `aws.profile`, AWS_PROFILE or AWS_ACCESS_KEY_ID",
    )
