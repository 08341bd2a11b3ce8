from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from fastapi.testclient import TestClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import geneva_drive as gd
from geneva_drive.errors import InvalidInput
from geneva_drive.testing import time_travel
from tests.web.served import served
from tests.web.shop import Parcel

SECRET = "a secret of more than thirty-two bytes"
OTHER = "some other secret with as many bytes too"
CLAIMS = {"sub": "ann", "roles": ["viewer"], "iss": "https://id.example", "aud": "geneva"}

Answer = Callable[[str], int]


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="module")
def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def jwks(rsa_key: rsa.RSAPrivateKey, ec_key: ec.EllipticCurvePrivateKey, tmp_path: Path) -> Path:
    by_rsa = jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key.public_key(), as_dict=True)
    by_ec = jwt.algorithms.ECAlgorithm.to_jwk(ec_key.public_key(), as_dict=True)
    keys = [{**by_rsa, "kid": "r", "alg": "RS256"}, {**by_ec, "kid": "e", "alg": "ES256"}]
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": keys}))
    return path


@pytest.fixture
def answer(migrated_sqlite_url: str, jwks: Path) -> Answer:
    """What a bearer of the token is answered where both a secret and a key set are known."""
    drive = gd.Drive(
        migrated_sqlite_url,
        jwt_secret=SECRET,
        jwks=str(jwks),
        jwt_issuer="https://id.example",
        jwt_audience="geneva",
    )
    client = TestClient(gd.asgi(drive))

    def ask(token: str) -> int:
        headers = {b"Authorization": f"Bearer {token}".encode()}
        return client.get("/api/v1/executions", headers=headers).status_code

    return ask


def test_tokens_of_each_algorithm_are_accepted(
    answer: Answer, rsa_key: rsa.RSAPrivateKey, ec_key: ec.EllipticCurvePrivateKey
) -> None:
    assert answer(jwt.encode(CLAIMS, SECRET, "HS256")) == 200
    assert answer(jwt.encode(CLAIMS, rsa_key, "RS256", headers={"kid": "r"})) == 200
    assert answer(jwt.encode(CLAIMS, ec_key, "ES256", headers={"kid": "e"})) == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": time.time() - 3600},
        {"nbf": time.time() + 3600},
        {"iss": "https://other.example"},
        {"aud": "other"},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"roles": 7},
        {"roles": [7]},
        {"permissions": {"execution:read": 1}, "roles": [None]},
    ],
)
def test_claims_that_do_not_hold_are_refused(answer: Answer, claims: dict[str, Any]) -> None:
    token = jwt.api_jws.encode(json.dumps({**CLAIMS, **claims}).encode(), SECRET, "HS256")

    assert answer(token) == 401


def test_a_clock_may_be_some_seconds_off(answer: Answer) -> None:
    claims = {**CLAIMS, "exp": time.time() - 5, "nbf": time.time() + 5}

    assert answer(jwt.encode(claims, SECRET, "HS256")) == 200


def test_foreign_and_unsigned_tokens_are_refused(
    answer: Answer, rsa_key: rsa.RSAPrivateKey
) -> None:
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    assert answer(jwt.encode(CLAIMS, "", "none")) == 401
    assert answer(jwt.encode(CLAIMS, OTHER, "HS256")) == 401
    assert answer(jwt.encode(CLAIMS, SECRET * 2, "HS512")) == 401
    assert answer(jwt.encode(CLAIMS, stranger, "RS256", headers={"kid": "r"})) == 401
    assert answer(jwt.encode(CLAIMS, rsa_key, "RS256", headers={"kid": "nobody"})) == 401
    assert answer(jwt.encode(CLAIMS, rsa_key, "RS256", headers={"kid": "e"})) == 401


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "gd_", "gd_1_2", "é", "." * 9000, "x" * 99999])
def test_what_is_no_token_is_refused(answer: Answer, token: str) -> None:
    assert answer(token) == 401


def test_a_subject_without_the_permission_is_known_and_refused(answer: Answer) -> None:
    assert answer(jwt.encode({**CLAIMS, "roles": []}, SECRET, "HS256")) == 403
    allowed = {**CLAIMS, "roles": [], "permissions": ["execution:read"]}
    assert answer(jwt.encode(allowed, SECRET, "HS256")) == 200


def test_without_a_secret_no_token_is_accepted(sqlite_drive: gd.Drive) -> None:
    client = TestClient(gd.asgi(sqlite_drive))
    token = jwt.encode(CLAIMS, SECRET, "HS256")

    answer = client.get("/api/v1/executions", headers={"Authorization": f"Bearer {token}"})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_key_set_that_cannot_be_read_is_refused_at_the_start(
    migrated_sqlite_url: str, tmp_path: Path
) -> None:
    drive = gd.Drive(migrated_sqlite_url, jwks=str(tmp_path / "none.json"))

    with pytest.raises(InvalidInput, match="Setting jwks must be the address or the file"):
        gd.asgi(drive)


def test_revoked_and_expired_keys_are_refused(sqlite_drive: gd.Drive) -> None:
    client = TestClient(gd.asgi(sqlite_drive))
    key = sqlite_drive.keys.create("billing", roles=["viewer"])
    headers = {"Authorization": f"Bearer {key.secret}"}

    soon = sqlite_drive.clock.now() + timedelta(hours=1)
    passing = sqlite_drive.keys.create("ann", roles=["viewer"], expires_at=soon)
    brief = {"Authorization": f"Bearer {passing.secret}"}

    before = [client.get("/api/v1/executions", headers=one).status_code for one in (headers, brief)]
    sqlite_drive.keys.revoke(key.id)
    revoked = client.get("/api/v1/executions", headers=headers)
    with time_travel(timedelta(hours=2), drive=sqlite_drive):
        expired = client.get("/api/v1/executions", headers=brief)

    assert before == [200, 200]
    assert (revoked.status_code, expired.status_code) == (401, 401)


def test_a_key_set_behind_an_address_is_fetched_once_and_not_for_every_unknown_key(
    migrated_sqlite_url: str, jwks: Path, rsa_key: rsa.RSAPrivateKey
) -> None:
    asked: list[str] = []

    async def key_set(request: Request) -> JSONResponse:
        asked.append(request.url.path)
        return JSONResponse(json.loads(jwks.read_text()))

    with served(Starlette(routes=[Route("/jwks.json", key_set)])) as url:
        drive = gd.Drive(migrated_sqlite_url, jwks=f"{url}/jwks.json")
        client = TestClient(gd.asgi(drive))

        def ask(kid: str) -> int:
            token = jwt.encode({"sub": "ann", "roles": ["viewer"]}, rsa_key, "RS256", {"kid": kid})
            headers = {"Authorization": f"Bearer {token}"}
            return client.get("/api/v1/executions", headers=headers).status_code

        known = [ask("r"), ask("r")]
        unknown = [ask(f"stranger {number}") for number in range(5)]

    assert (known, unknown) == ([200, 200], [401] * 5)
    assert len(asked) == 1
    assert ask("r") == 200


def test_a_key_set_that_cannot_be_fetched_is_a_problem_of_ours(migrated_sqlite_url: str) -> None:
    drive = gd.Drive(migrated_sqlite_url, jwks="http://127.0.0.1:9/jwks.json")
    stranger = ec.generate_private_key(ec.SECP256R1())
    token = jwt.encode({"sub": "ann"}, stranger, "ES256", {"kid": "e"})

    answer = TestClient(gd.asgi(drive)).get(
        "/api/v1/executions", headers={"Authorization": f"Bearer {token}"}
    )

    assert (answer.status_code, answer.json()["code"]) == (503, "key_set_unavailable")


def test_the_login_of_the_host_decides_who_acts(sqlite_drive: gd.Drive) -> None:
    async def authenticate(request: Request) -> gd.Actor | None:
        name = request.cookies.get("session")
        return gd.Actor(name, roles=["operator"]) if name else None

    workflow = Parcel.using(sqlite_drive).create(context={"address": "Rue 1"})
    client = TestClient(gd.asgi(sqlite_drive, authenticate=authenticate))
    path = f"/api/v1/executions/{workflow.id}/pause"

    unknown = client.post(path)
    client.cookies["session"] = "ann"
    known = client.post(path)

    assert (unknown.status_code, known.status_code) == (401, 200)
    assert [entry.actor for entry in workflow.audit_entries] == ["ann"]


def test_a_page_of_another_site_cannot_act_with_the_login_of_the_host(
    sqlite_drive: gd.Drive,
) -> None:
    workflow = Parcel.using(sqlite_drive).create(context={"address": "Rue 1"})
    app = gd.asgi(sqlite_drive, authenticate=lambda request: gd.Actor("ann", roles=["admin"]))
    client, path = TestClient(app), f"/api/v1/executions/{workflow.id}/cancel"

    foreign = client.post(path, headers={"Origin": "https://evil.example"})
    own = client.post(path, headers={"Origin": "https://shop.example"})

    assert (foreign.status_code, foreign.json()["code"]) == (403, "cross_origin")
    assert own.status_code == 200
