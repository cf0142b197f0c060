"""What AWS says when something is wrong, in our two words, with the way out.

The code decides: each service has its own names for the same thing.
"""

from __future__ import annotations

import re

from talosmith.errors import Permanent, TalosmithError, Temporary

_GONE = re.compile(
    r"NotFound(Exception)?$|^NoSuch|^InvalidInstanceID\.|^InvalidChangeBatch$.*not found"
    r"|^InvalidNetworkInterfaceID\.|^NatGatewayNotFound|^InvalidAllocationID\."
)
_THERE = re.compile(r"AlreadyExists|Duplicate|AlreadyAssociated|^InvalidSubnet\.Conflict$|^TooManyUniqueTargets")
_IN_USE = re.compile(r"^DependencyViolation$|^DeleteConflict$|^ResourceInUse$|^VolumeInUse$|^OperationNotPermitted\.")
_THROTTLED = re.compile(
    r"Throttl|^RequestLimitExceeded$|^TooManyRequests|^PriorRequestNotComplete$|^SlowDown$|^BandwidthLimit"
)
_SERVER = re.compile(r"^Internal|^ServiceUnavailable|^Unavailable$|^5\d\d$|^ServiceFailure$|^RequestTimeout")
_CREDENTIALS = re.compile(
    r"^AuthFailure$|^InvalidClientTokenId$|^UnrecognizedClient|^InvalidAccessKeyId$|^OptInRequired$"
)
_SKEW = re.compile(r"^RequestTimeTooSkewed$|^SignatureDoesNotMatch$")
_DENIED = re.compile(r"^UnauthorizedOperation$|^AccessDenied|^NotAuthorized")
_ACTION = re.compile(r"perform:? ?([a-z0-9-]+:[A-Za-z0-9]+)")
_QUOTA = re.compile(r"LimitExceeded|^MaxSpotInstance|^TooMany|^ResourceLimitExceeded")

# code, hint, whether trying again may help
_HINTS: tuple[tuple[str, str, bool], ...] = (
    (
        r"^InsufficientInstanceCapacity$|^InsufficientHostCapacity$|^SpotMaxPriceTooLow$",
        "AWS has no more of this instance type in the zone now: wait, or set another `instance_type` or `az`",
        True,
    ),
    (
        r"^InvalidTarget$|^IncorrectInstanceState$|^IncorrectState$|^InvalidState|^VolumeModification",
        "it is still changing",
        True,
    ),
    (
        r"^Unsupported$|^InvalidInstanceType$|^InvalidInstanceType\.",
        "the zone does not offer the instance type: set another `instance_type`, or another `az`",
        False,
    ),
    (r"^InvalidAMIID", "the image does not exist in this region: correct `aws.ami`, or leave it out", False),
    (r"^InvalidVpcRange$|^InvalidVpc\.Range$", "a VPC is a /16 to a /28: correct `aws.vpc_cidr`", False),
    (r"^OperationNotPermitted$", "the instance is protected against termination: end the protection in EC2", False),
    (r"^PendingVerification$", "AWS still verifies the account in this region: wait for its e-mail", False),
)


class Gone(Permanent):
    """It does not exist, or is not visible yet."""


class There(Permanent):
    """Something with this name, or this network, exists."""


class InUse(Temporary):
    """Something else still needs it."""


class AddressInUse(Temporary):
    """A network interface has the private address of the instance."""


class TokenUsed(Permanent):
    """The instance of this client token was terminated."""


class TokenOfOthers(Temporary):
    """An instance was launched with this client token and other parameters."""


class Throttled(Temporary):
    """Too many calls: this one was not carried out."""


class Interrupted(Temporary):
    """The connection broke, or AWS failed: whether the call was carried out is not known."""


class Credentials(Permanent):
    """There are none, or AWS does not accept them."""


class Denied(Permanent):
    """The identity may not do this. `action`: as in a policy; empty where AWS does not tell."""

    def __init__(self, what: str, *, hint: str, action: str = "") -> None:
        super().__init__(what, hint=hint)
        self.action = action


RENEW = "renew them (`aws sso login`, or new access keys), then run the same command again"
POLICY = "`talosmith render aws-policy` prints a policy that allows all that this inventory needs"


def failure(what: str, code: str, message: str) -> TalosmithError:
    """`what` was tried; `code` and `message` are those of AWS."""
    message = re.sub(r"\s*Encoded authorization failure message:.*", "", message, flags=re.DOTALL).strip()
    text = f"{what}: {message or code}" + (f" ({code})" if message and code not in message else "")
    if re.match(r"ExpiredToken|RequestExpired", code):
        return Credentials(f"{what}: the AWS credentials have expired ({code})", hint=RENEW)
    if _SKEW.search(code):
        return Credentials(
            text, hint="is this computer's clock right? AWS allows 5 minutes; else the secret key is wrong"
        )
    if _CREDENTIALS.search(code):
        return Credentials(text, hint="AWS does not know these credentials: `aws sts get-caller-identity` tries them")
    if _DENIED.search(code):
        found = _ACTION.search(message)
        return Denied(text, hint=POLICY, action=found[1] if found else "")
    if _THROTTLED.search(code):
        return Throttled(text, hint="AWS limits calls by account and region: others may be calling, too")
    if _GONE.search(code):
        return Gone(text, hint="plan again: AWS has changed meanwhile")
    if _THERE.search(code):
        return There(text, hint="it exists, and does not carry this cluster's tags: rename or delete it")
    if _IN_USE.search(code):
        return InUse(text, hint="something else still uses it", retry_after=2.0)
    if launch := _launch_failure(code, message, text):
        return launch
    if _SERVER.search(code):
        return Interrupted(text, hint="a failure on the side of AWS: https://health.aws.amazon.com", retry_after=1.0)
    for pattern, hint, again in _HINTS:
        if re.search(pattern, code):
            return Temporary(text, hint=hint, retry_after=3.0) if again else Permanent(text, hint=hint)
    if _QUOTA.search(code):
        return Permanent(text, hint="a quota of the account: Service Quotas in the AWS console raises it")
    return Permanent(text, hint="the code says more: https://docs.aws.amazon.com/AWSEC2/latest/APIReference")


def _launch_failure(code: str, message: str, text: str) -> TalosmithError | None:
    """Of RunInstances, where the caller has a way out."""
    if code == "InvalidIPAddress.InUse":
        return AddressInUse(text, hint="another network interface has this address", retry_after=3.0)
    if code == "IdempotentInstanceTerminated":
        return TokenUsed(text, hint="re-run the same command")
    if code == "IdempotentParameterMismatch":
        hint = "an instance was created with other settings under the same token"
        return TokenOfOthers(text, hint=hint, retry_after=3.0)
    # EC2 has no code of its own for this one.
    if code == "InvalidParameterValue" and "Invalid IAM Instance Profile" in message:
        hint = "IAM takes seconds to show a new one"
        return Temporary(f"the instance profile is not visible yet ({text})", hint=hint, retry_after=3.0)
    return None
