"""Errors in the form of each service: EC2's XML, the XML of the other query services, S3's, and JSON."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

JSON_SERVICES = frozenset({"service-quotas", "ssm", "resourcegroupstaggingapi", "kms", "pricing"})


@dataclass
class Answer:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class ConnectionCut(Exception):
    """The connection is closed without an answer."""


class AwsError(Exception):
    """A call that is refused."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status

    def answer(self, service: str) -> Answer:
        request = str(uuid.uuid4())
        code, message = escape(self.code), escape(self.message)
        headers = {"Content-Type": "text/xml;charset=UTF-8", "x-amzn-RequestId": request}
        if service in JSON_SERVICES:
            body = json.dumps({"__type": self.code, "message": self.message})
            headers["Content-Type"] = "application/x-amz-json-1.1"
        elif service == "ec2":
            body = (
                f'<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error><Code>{code}</Code>'
                f"<Message>{message}</Message></Error></Errors><RequestID>{request}</RequestID></Response>"
            )
        elif service == "s3":
            body = f"<Error><Code>{code}</Code><Message>{message}</Message><RequestId>{request}</RequestId></Error>"
        else:
            kind = "Receiver" if self.status >= 500 else "Sender"
            body = (
                f"<ErrorResponse><Error><Type>{kind}</Type><Code>{code}</Code><Message>{message}</Message></Error>"
                f"<RequestId>{request}</RequestId></ErrorResponse>"
            )
        return Answer(self.status, body.encode(), headers)


def in_use(message: str) -> AwsError:
    return AwsError("DependencyViolation", message)
