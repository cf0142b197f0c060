"""Who asks and what they may: certificates, tokens, nobody, and the reviews that tell."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.contract.kube.kube_world import Answer, KubeWorld, Obj, config_map

pytestmark = pytest.mark.slow

REVIEWS = "/apis/authorization.k8s.io/v1"
UNAUTHORIZED = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "Unauthorized",
    "reason": "Unauthorized",
    "code": 401,
}


def who_am_i(world: KubeWorld, **how: Any) -> Obj:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = world.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", review, **how)
    assert answer.code == 201
    user: Obj = answer.ok()["status"]["userInfo"]
    return user


def may_i(world: KubeWorld, **attributes: Any) -> Answer:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": attributes}
    return world.create(f"{REVIEWS}/selfsubjectaccessreviews", review)


@pytest.fixture
def robot(world: KubeWorld, space: str) -> str:
    """The path of a service account."""
    accounts = f"/api/v1/namespaces/{space}/serviceaccounts"
    world.create(accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}).ok()
    return f"{accounts}/robot"


def token_request(**spec: Any) -> Obj:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1/namespaces", "/openapi/v3"])
def test_nobody_is_refused(world: KubeWorld, path: str) -> None:
    answer = world.anonymous.get(path)
    assert (answer.code, answer.body) == (401, UNAUTHORIZED)


@pytest.mark.parametrize("token", ["abc", "a.b.c"], ids=["text", "parts"])
def test_a_token_of_nobody_is_refused(world: KubeWorld, token: str) -> None:
    answer = world.anonymous.get("/api/v1/namespaces", headers=bearer(token))
    assert (answer.code, answer.body) == (401, UNAUTHORIZED)


def test_somebody_without_rights(world: KubeWorld, maps: str, space: str) -> None:
    somebody = world.user("somebody", "people")
    told = f'User "somebody" cannot get resource "configmaps" in API group "" in the namespace "{space}"'
    found = somebody.get(f"{maps}/one").refusal
    assert found == (
        403,
        "Forbidden",
        f'configmaps "one" is forbidden: {told}',
        {"name": "one", "kind": "configmaps"},
    )
    told = 'nodes is forbidden: User "somebody" cannot list resource "nodes" in API group "" at the cluster scope'
    assert somebody.get("/api/v1/nodes").refusal == (403, "Forbidden", told, {"kind": "nodes"})
    told = (
        'deployments.apps is forbidden: User "somebody" cannot watch resource "deployments" in API group "apps" '
        "at the cluster scope"
    )
    found = somebody.get("/apis/apps/v1/deployments", watch="true").refusal
    assert found == (403, "Forbidden", told, {"group": "apps", "kind": "deployments"})
    told = 'forbidden: User "somebody" cannot get path "/metrics"'
    assert somebody.get("/metrics").refusal == (403, "Forbidden", told, {})
    assert somebody.create(maps, config_map("one")).why[:2] == (403, "Forbidden")


def test_somebody_may_look_around(world: KubeWorld) -> None:
    somebody = world.user("somebody")
    for path in ("/version", "/healthz", "/api", "/apis", "/api/v1", "/apis/apps/v1"):
        assert somebody.get(path).code == 200, path


def test_certificates_say_who_it_is(world: KubeWorld) -> None:
    user = who_am_i(world.user("somebody", "people"))
    assert (user["username"], user["groups"]) == ("somebody", ["people", "system:authenticated"])
    (proof,) = user["extra"]["authentication.kubernetes.io/credential-id"]
    assert proof.startswith("X509SHA256=")
    admin = who_am_i(world)
    assert (admin["username"], admin["groups"]) == ("admin", ["system:masters", "system:authenticated"])


def test_a_service_account_has_tokens(world: KubeWorld, robot: str, space: str) -> None:
    answer = world.create(f"{robot}/token", token_request())
    assert answer.code == 201
    made = answer.ok()
    assert (made["kind"], made["spec"]["expirationSeconds"]) == ("TokenRequest", 3600)
    claims = json.loads(base64.urlsafe_b64decode(made["status"]["token"].split(".")[1] + "=="))
    assert claims["sub"] == f"system:serviceaccount:{space}:robot"
    assert claims["exp"] - claims["iat"] == 3600
    assert claims["aud"] == made["spec"]["audiences"] == [claims["iss"]]
    uid = world.get(robot).ok()["metadata"]["uid"]
    assert claims["kubernetes.io"] == {"namespace": space, "serviceaccount": {"name": "robot", "uid": uid}}
    user = who_am_i(world.anonymous, headers=bearer(made["status"]["token"]))
    assert user == {
        "username": f"system:serviceaccount:{space}:robot",
        "uid": uid,
        "groups": ["system:serviceaccounts", f"system:serviceaccounts:{space}", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]},
    }


def test_a_service_account_may_do_nothing_by_itself(world: KubeWorld, robot: str, maps: str, space: str) -> None:
    token = world.create(f"{robot}/token", token_request()).ok()["status"]["token"]
    message = (
        f'configmaps is forbidden: User "system:serviceaccount:{space}:robot" cannot list resource "configmaps" in '
        f'API group "" in the namespace "{space}"'
    )
    assert world.anonymous.get(maps, headers=bearer(token)).why == (403, "Forbidden", message)


def test_a_token_that_was_tampered_with(world: KubeWorld, robot: str) -> None:
    token = world.create(f"{robot}/token", token_request()).ok()["status"]["token"]
    head, body, signature = token.split(".")
    other = body[:-8] + ("A" if body[-8] != "A" else "B") + body[-7:]
    assert world.anonymous.get("/api", headers=bearer(f"{head}.{other}.{signature}")).code == 401
    elsewhere = world.create(f"{robot}/token", token_request(audiences=["other"])).ok()["status"]["token"]
    assert world.anonymous.get("/api", headers=bearer(elsewhere)).code == 401


def test_tokens_that_cannot_be_had(world: KubeWorld, robot: str) -> None:
    message = (
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 10: may not '
        "specify a duration less than 10 minutes"
    )
    assert world.create(f"{robot}/token", token_request(expirationSeconds=10)).why == (422, "Invalid", message)
    answer = world.create(f"{robot}s/token", token_request())
    assert answer.why == (404, "NotFound", 'serviceaccounts "robots" not found')


def test_a_token_is_reviewed(world: KubeWorld, robot: str, space: str) -> None:
    def reviewed(token: str) -> Obj:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status: Obj = world.create("/apis/authentication.k8s.io/v1/tokenreviews", review).ok()["status"]
        return status

    token = world.create(f"{robot}/token", token_request()).ok()["status"]["token"]
    found = reviewed(token)
    assert found["authenticated"] is True
    assert found["user"]["username"] == f"system:serviceaccount:{space}:robot"
    assert reviewed("abc") == {"user": {}, "error": "invalid bearer token"}


def test_what_one_may_do(world: KubeWorld) -> None:
    pods = {"verb": "delete", "resource": "pods", "namespace": "default"}
    allowed = may_i(world, resourceAttributes=pods)
    assert (allowed.code, allowed.ok()["status"]) == (201, {"allowed": True})
    assert may_i(world.user("somebody"), resourceAttributes=pods).ok()["status"] == {"allowed": False}
    assert may_i(world.user("somebody"), nonResourceAttributes={"verb": "get", "path": "/version"}).ok()["status"][
        "allowed"
    ]
    message = (
        '.authorization.k8s.io "" is invalid: spec: Invalid value: null: exactly one of '
        "nonResourceAttributes or resourceAttributes must be specified"
    )
    assert may_i(world).why == (422, "Invalid", message)


def test_what_another_may_do(world: KubeWorld) -> None:
    def may(**spec: Any) -> bool:
        nodes = {"verb": "list", "resource": "nodes"}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"resourceAttributes": nodes, **spec},
        }
        return bool(world.create(f"{REVIEWS}/subjectaccessreviews", review).ok()["status"]["allowed"])

    assert not may(user="somebody")
    assert may(user="somebody", groups=["system:masters"])


def test_an_administrator_acts_for_another(world: KubeWorld) -> None:
    user = who_am_i(world, headers={"Impersonate-User": "bob", "Impersonate-Group": "people"})
    assert user == {"username": "bob", "groups": ["people", "system:authenticated"]}
    answer = world.get("/api/v1/nodes", headers={"Impersonate-User": "bob"})
    message = 'nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the cluster scope'
    assert answer.why == (403, "Forbidden", message)
