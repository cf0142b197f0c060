"""What stands between a client and moto: every call is recorded, checked and corrected here.

Calls are answered one after the other, for moto's state is not safe to be shared by threads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from . import images  # isort: skip
from moto.core.exceptions import ServiceException
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from tests.simulators.aws_names import NAMES_PATH

from .calls import Call, parse
from .errors import Answer, AwsError, ConnectionCut
from .hiding import hidden_from
from .hooks import AFTER, BEFORE, INSTEAD
from .policy import authorize
from .tokens import remember, repeated
from .world import Cloud

assert images  # before moto
_CODE = re.compile(rb"<Code>([^<]+)</Code>|\"__type\": ?\"([^\"]+)\"")
_moto = DomainDispatcherApplication(create_backend_app)  # each service's part is built once in a process


class Proxy:
    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def answer(self, environ: dict[str, Any], body: bytes) -> Answer:
        if environ["PATH_INFO"] == NAMES_PATH:
            return self._names(parse_qs(environ["QUERY_STRING"])["host"][0])
        call = parse(environ, body)
        with self.cloud.mutex:
            self.cloud.agenda.run_due()
            self.cloud.calls.append(call)
            for watcher in list(self.cloud.watchers):
                watcher(call)
            try:
                return self._answer(call, environ)
            except AwsError as error:
                call.error = error.code
                return error.answer(call.service)
            except ServiceException as error:  # of moto's, in a call that the simulator answers itself
                call.error = str(error.code)
                return AwsError(call.error, str(error.message)).answer(call.service)
            except ConnectionCut:
                call.error = "cut"
                raise
            except Exception as problem:  # shown to the test, which would else see a connection that is closed
                call.error = "BrokenSimulator"
                text = f"{call.iam_action}: {type(problem).__name__}: {problem}"
                return AwsError(call.error, text, 501).answer(call.service)

    def _answer(self, call: Call, environ: dict[str, Any]) -> Answer:
        cloud = self.cloud
        cloud.faults.authenticate(call, cloud.clock.now())
        spoil = cloud.faults.judge(call)
        authorize(cloud, call)
        if call.dry_run:
            raise AwsError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)
        answer = self._execute(call, environ)
        if answer.status >= 400:
            code = _CODE.search(answer.body)
            call.error = (code[1] or code[2]).decode() if code else str(answer.status)
        if spoil:
            spoil()
        return answer

    def _execute(self, call: Call, environ: dict[str, Any]) -> Answer:
        cloud, name = self.cloud, (call.service, call.action)
        cloud.executing = call
        try:
            again = repeated(cloud, call)
            if again is not None:
                return again
            with hidden_from(cloud, call):
                for check in BEFORE[name] + BEFORE[call.service, "*"]:
                    check(cloud, call)
                answer = INSTEAD[name](cloud, call) if name in INSTEAD else None
                if answer is None:
                    answer = ask_moto(call, environ)
            if answer.status < 400:
                for react in AFTER[name]:
                    react(cloud, call)
                remember(cloud, call, answer)
        finally:
            cloud.executing = None
        return answer

    def _names(self, host: str) -> Answer:
        with self.cloud.mutex:
            address = self.cloud.resolve(host)
        status = 200 if address else 404
        return Answer(status, json.dumps({"address": address}).encode(), {"Content-Type": "application/json"})


def ask_moto(call: Call, environ: dict[str, Any]) -> Answer:
    """moto's answer; what it does not implement is an error that says so, not a page of HTML."""
    environ["HTTP_X_MOTO_ACCOUNT_ID"] = call.account
    got: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], None]:
        got[:] = [int(status.split()[0]), dict(headers)]
        return lambda data: None

    try:
        body = b"".join(_moto(environ, start_response))
    except NotImplementedError as missing:
        raise AwsError("NotImplementedInSimulator", f"{call.iam_action}: {missing}", 501) from None
    except Exception as problem:
        text = f"{call.iam_action} fails in moto: {type(problem).__name__}: {problem}"
        raise AwsError("BrokenSimulator", text, 501) from problem
    headers = {name: value for name, value in got[1].items() if name.lower() not in ("content-length", "date")}
    return Answer(got[0], body, headers)
