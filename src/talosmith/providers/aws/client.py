"""The connection to AWS: one session of boto3 for a run, one client per service and region, every call in a thread.

boto3 repeats nothing by itself here: a call that creates something and loses its answer would create it twice. Calls
that only read are repeated, and calls that AWS has refused for being too many; all else is for the caller, who looks
first.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from talosmith.call_log import logged
from talosmith.errors import Permanent, Temporary
from talosmith.providers.aws.failures import RENEW, Credentials, Gone, Interrupted, Throttled, failure
from talosmith.tasks import in_thread
from talosmith.waiting import retried

Answer = dict[str, Any]

_READS = re.compile("describe_|get_|list_|simulate_")
_TRIES, _TRIES_THROTTLED = 4, 8
_PAUSE, _LONGEST = 0.1, 8.0  # seconds between two tries: doubled after each, up to the longest
_NEW = 2.0  # seconds until what was just created is worth another look
_CONNECTIONS = 24


@cache
def boto3() -> Any:
    """The library, or how to get it."""
    try:
        import boto3 as library
    except ImportError as missing:
        raise Permanent(f"boto3 is not installed: {missing}", hint="pip install 'talosmith[aws]'") from None
    return library


class AwsClient:
    def __init__(self, region: str, profile: str | None = None) -> None:
        self.region = region
        self.profile = profile
        self._session: Any = None
        self._clients: dict[str, Any] = {}
        self._making = threading.Lock()

    async def call(self, service: str, action: str, *, fresh: bool = False, **parameters: Any) -> Answer:
        """One call. `fresh`: what it refers to was just created, so not to find it is `Temporary`."""
        reads = bool(_READS.match(action)) or bool(parameters.get("DryRun"))

        def perform() -> Answer:
            return self._perform(service, action, parameters)

        return await self._repeated(perform, reads=reads, fresh=fresh)

    async def listed(self, service: str, action: str, key: str, **parameters: Any) -> list[Any]:
        """All pages. `key`: where the answer has its items."""

        def perform() -> Answer:
            return self._perform(service, action, parameters, key)

        return list((await self._repeated(perform, reads=True))[key])

    async def _repeated(self, perform: Any, *, reads: bool, fresh: bool = False) -> Answer:
        def pause_after(attempt: int, wrong: Temporary) -> float | None:
            again = isinstance(wrong, Throttled) or (reads and attempt < _TRIES and isinstance(wrong, Interrupted))
            longest = min(_LONGEST, _PAUSE * 2**attempt)
            return longest * random.uniform(0.5, 1.0) if again else None  # noqa: S311 # spreads calls, no secret

        try:
            return await retried(lambda: in_thread(perform), _TRIES_THROTTLED, pause_after)
        except Gone as hidden:
            if fresh:
                raise Temporary(f"{hidden}: not visible yet", retry_after=_NEW) from None
            raise

    def _perform(self, service: str, action: str, parameters: Mapping[str, Any], key: str = "") -> Answer:
        """In a thread."""
        what = f"{service}:{''.join(part.capitalize() for part in action.split('_'))}"
        client = self._client(service)
        from botocore import exceptions as wrong
        from botocore.parsers import ResponseParserError

        try:
            with logged("aws", self.region, what):
                if key and client.can_paginate(action):
                    pages = client.get_paginator(action).paginate(**parameters)
                    return {key: [one for page in pages for one in page.get(key, ())]}
                answer: Answer = getattr(client, action)(**parameters)
                return answer if not key else {key: answer.get(key, [])}
        except wrong.ClientError as error:
            said = error.response.get("Error", {})
            raise failure(what, str(said.get("Code", "")), str(said.get("Message", ""))) from None
        except (wrong.NoCredentialsError, wrong.PartialCredentialsError) as error:
            raise Credentials(f"no AWS credentials: {error}", hint=_WHERE) from None
        except (wrong.TokenRetrievalError, wrong.SSOError, wrong.CredentialRetrievalError) as error:
            raise Credentials(f"the AWS credentials cannot be had: {error}", hint=RENEW) from None
        except wrong.ParamValidationError as error:
            raise Permanent(f"{what}: {error}", hint="boto3 refuses the call: is boto3 old?") from None
        except (wrong.HTTPClientError, wrong.ConnectionError, ResponseParserError) as error:
            hint = f"is {self.region} a region, and reachable from here?"
            raise Interrupted(f"{what}: {error}", hint=hint) from None
        except wrong.BotoCoreError as error:
            raise Permanent(f"{what}: {error}", hint="the settings in ~/.aws may be wrong") from None

    def _client(self, service: str) -> Any:
        made = self._clients.get(service)
        if made is None:
            with self._making:
                made = self._clients.get(service) or self._make(service)
                self._clients[service] = made
        return made

    def _make(self, service: str) -> Any:
        library = boto3()
        from botocore import exceptions as wrong
        from botocore.config import Config

        config = Config(
            retries={"total_max_attempts": 1},
            max_pool_connections=_CONNECTIONS,
            connect_timeout=5,
            read_timeout=60,
            user_agent_extra="talosmith",
        )
        try:
            if self._session is None:
                self._session = library.session.Session(region_name=self.region, profile_name=self.profile)
            return self._session.client(service, config=config)
        except wrong.ProfileNotFound as error:
            hint = "correct `aws.profile`; `aws configure list-profiles` lists all"
            raise Credentials(f"AWS: {error}", hint=hint) from None
        except wrong.BotoCoreError as error:
            raise Permanent(f"AWS: {error}", hint="the settings in ~/.aws may be wrong") from None

    async def close(self) -> None:
        clients, self._clients = [*self._clients.values()], {}
        for client in clients:
            with suppress(Exception):  # nothing is asked of it any more
                client.close()


_WHERE = "`aws configure` or `aws sso login`; or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
