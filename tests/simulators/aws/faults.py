"""What goes wrong on demand: throttled and refused calls, lost requests and answers, credentials, a wrong clock."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from .calls import Call
from .errors import AwsError, ConnectionCut

_QUERY_EXPIRED = "The security token included in the request is expired"


@dataclass
class Refusal:
    """The next so many calls of an action are answered so."""

    action: str
    error: AwsError
    times: int


@dataclass
class Faults:
    expired: bool = False
    refused_keys: set[str] = field(default_factory=set)
    skew: float = 0.0  # seconds by which the clock of AWS is ahead
    throttled: int = 0
    lost_answers: int = 0
    refusals: list[Refusal] = field(default_factory=list)
    _percent: float = 0.0
    _chance: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311

    def fail_percent(self, percent: float, seed: int) -> None:
        self._percent = percent
        self._chance = random.Random(seed)  # noqa: S311

    def clear(self) -> None:
        self.expired = False
        self.refused_keys.clear()
        self.skew, self.throttled, self.lost_answers, self._percent = 0.0, 0, 0, 0.0
        self.refusals.clear()

    def authenticate(self, call: Call, now: float) -> None:
        """Raise what AWS answers to credentials or a signature it does not accept."""
        ec2 = call.service == "ec2"
        if abs(self.skew) > 300:
            there, here = (_time(now + self.skew), _time(now))
            if ec2:
                raise AwsError("RequestExpired", f"Request has expired. Timestamp date is {here}", 400)
            if call.service == "s3":
                text = "The difference between the request time and the current time is too large."
                raise AwsError("RequestTimeTooSkewed", text, 403)
            raise AwsError("SignatureDoesNotMatch", f"Signature expired: {here} is now earlier than {there}", 403)
        if call.key in self.refused_keys:
            if ec2:
                raise AwsError("AuthFailure", "AWS was not able to validate the provided access credentials", 401)
            text = "The security token included in the request is invalid."
            code = "UnrecognizedClientException" if call.service == "service-quotas" else "InvalidClientTokenId"
            raise AwsError(code, text, 403)
        if self.expired:
            if ec2:
                raise AwsError("RequestExpired", "Request has expired.", 400)
            code = "ExpiredTokenException" if call.service == "service-quotas" else "ExpiredToken"
            raise AwsError(code, _QUERY_EXPIRED, 403)

    def judge(self, call: Call) -> Callable[[], None] | None:
        """Raise what happens to a call before it has an effect, or return what happens to its answer."""
        if self.throttled:
            self.throttled -= 1
            if call.service == "ec2":
                raise AwsError("RequestLimitExceeded", "Request limit exceeded.", 503)
            raise AwsError("Throttling", "Rate exceeded", 400)
        for refusal in self.refusals:
            if fnmatchcase(call.iam_action, refusal.action):
                refusal.times -= 1
                self.refusals = [one for one in self.refusals if one.times > 0]
                raise refusal.error
        if call.mutating and self.lost_answers:
            self.lost_answers -= 1
            return _cut
        if self._percent and self._chance.random() * 100 < self._percent:
            fail = self._chance.choice((_internal, _unavailable, _cut))
            if self._chance.random() < 0.5:
                fail()
            return fail
        return None


def _internal() -> None:
    raise AwsError("InternalError", "An internal error has occurred", 500)


def _unavailable() -> None:
    raise AwsError("ServiceUnavailable", "The service is unavailable. Please try again shortly.", 503)


def _cut() -> None:
    raise ConnectionCut


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%dT%H%M%SZ")
