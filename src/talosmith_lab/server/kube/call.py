"""One request to one API server: who makes it, how it wants things done, and in which form it gives and takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from talosmith_lab.kube import access, protobuf, shapes, tokens
from talosmith_lab.kube.access import User, Wish
from talosmith_lab.kube.api import Api, How
from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.errors import ApiError, bad_request, unauthorized
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.patching import APPLY, unsupported
from talosmith_lab.server.kube import asking, formats
from talosmith_lab.server.kube.formats import Form
from talosmith_lab.server.kube.http import Answer, Exchange, Request
from talosmith_lab.server.kube.routes import Route
from talosmith_lab.server.kube.tabling import Tables

if TYPE_CHECKING:
    from talosmith_lab.server.kube.app import App


class Call:
    def __init__(
        self,
        app: App,
        kubernetes: Kubernetes,
        request: Request,
        exchange: Exchange,
        route: Route | None,
        certificate: User | None,
    ) -> None:
        self.app = app
        self.kubernetes = kubernetes
        self.request = request
        self.exchange = exchange
        self.route = route
        self.api = Api(kubernetes, app.machine)
        self.form = Form()
        self.warnings: list[str] = []
        self._certificate = certificate

    @property
    def plain_form(self) -> Form:
        """For answers that are neither tables nor cut down."""
        return Form(self.form.media, pretty=self.form.pretty)

    # Who

    def user(self) -> User:
        user = self._certificate
        if user is None:
            scheme, _, token = self.request.headers.get("authorization", "").partition(" ")
            user = self.by_token(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise unauthorized()
        return self._impersonated(user)

    def by_token(self, token: str) -> User | None:
        key = self.app.config.service_account_key
        return tokens.user_of(self.kubernetes, key, token) if token and key else None

    def _impersonated(self, user: User) -> User:
        headers = self.request.headers
        name = headers.get("impersonate-user")
        if not name:
            return user
        self.need(user, Wish(verb="impersonate", resource="users", name=name))
        groups = tuple(one.strip() for one in headers.get("impersonate-group", "").split(",") if one)
        _, _, account = name.partition("system:serviceaccount:")
        if account and not groups:
            namespace, _, short = account.partition(":")
            return access.account_user(namespace, short)
        return User(name, tuple(dict.fromkeys((*groups, access.AUTHENTICATED))))

    def need(self, user: User, wish: Wish) -> None:
        if not access.allowed(self.kubernetes, user, wish):
            raise access.refusal(user, wish)

    # How

    def how(self, user: User) -> How:
        query = self.request.query
        asking.check_writing(query, self.route.verb if self.route else "create")
        agent = self.request.headers.get("user-agent", "").partition("/")[0]
        manager = query.get("fieldManager", "") or agent or "unknown"
        return How(
            manager=manager,
            user=user.name,
            groups=user.groups,
            dry_run=query.get("dryRun") == "All",
            warnings=self.warnings,
        )

    # What is given

    @property
    def content_type(self) -> str:
        return self.request.headers.get("content-type", "").partition(";")[0].strip() or formats.JSON

    def body(self) -> bytes:
        """As JSON, whatever it came in."""
        content_type = self.content_type
        if not self.request.body:
            return b""
        if content_type == formats.YAML:
            try:
                return json.dumps(yaml.load(self.request.body, Loader=yaml.CSafeLoader)).encode()
            except yaml.YAMLError as problem:
                raise bad_request(f"error converting YAML to JSON: {problem}") from None
        if content_type == protobuf.MEDIA:
            try:
                return json.dumps(protobuf.decoded(self.request.body)).encode()
            except protobuf.Unreadable as problem:
                raise bad_request(str(problem)) from None
        if content_type != formats.JSON:
            raise _unknown_format(content_type)
        return self.request.body

    def object(self, kind: Kind) -> Obj:
        text = self.body()
        obj = shapes.read(kind, text)
        if kind.custom:
            asking.check_kind_given(kind, obj, text)
        return obj

    def named_object(self, kind: Kind, name: str) -> Obj:
        """An object for a path that has its name already."""
        obj = self.object(kind)
        asking.check_name(obj, name)
        obj.setdefault("metadata", {}).setdefault("name", name)
        return obj

    def json(self) -> Obj:
        try:
            obj: Any = json.loads(self.body() or b"{}")
        except ValueError as problem:
            raise bad_request(f"couldn't get version/kind; json parse error: {problem}") from None
        if not isinstance(obj, dict):
            raise bad_request("the body is not an object")
        return obj

    # What is given back

    @property
    def tables(self) -> Tables:
        return Tables(self.kubernetes, self.request.query.get("includeObject", "") or "Metadata")

    def shown(self, kind: Kind, obj: Obj, code: int = 200) -> Answer:
        if obj.get("kind") == "Status" and obj.get("apiVersion") == "v1":
            return formats.answer(obj, self.plain_form, code)
        if self.form.shape == "Table":
            metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            return formats.answer(self.tables.table(kind, [obj], metadata), self.form, code)
        if self.form.shape.startswith(formats.PARTIAL):
            return formats.answer(formats.partial(obj), self.form, code)
        return formats.answer(obj, self.form, code)


def _unknown_format(content_type: str) -> ApiError:
    if content_type == APPLY:
        return unsupported()
    taken = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    message = f"the body of the request was in an unknown format - accepted media types include: {taken}"
    return ApiError(415, "UnsupportedMediaType", message)
