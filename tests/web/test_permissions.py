"""Every route of the OpenAPI document, without and with the wrong permissions."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import geneva_drive as gd
from geneva_drive.drive.access.permissions import Permission
from geneva_drive.web.security.route_permissions import PAGES, PUBLIC, ROUTES, AnyOf
from tests.web.conftest import Ask

UNDESCRIBED = {"GET /openapi.json", "GET /docs", *PAGES}
PROTECTED = sorted(
    route for route, need in ROUTES.items() if need is not PUBLIC and route not in PAGES
)


def needed_by(route: str) -> set[str]:
    need = ROUTES[route]
    return set(need.permissions) if isinstance(need, AnyOf) else {str(need)}


def send(client: TestClient, route: str, **options: Any) -> tuple[int, str]:
    """Ask for an id that does not exist, and with a body that no route takes."""
    method, path = route.split(" ")
    address = path.replace("{id}", "no-such-id").replace("{", "").replace("}", "")
    answer = client.request(method, address, content=b"{broken", **options)
    return answer.status_code, answer.headers["content-type"]


@pytest.fixture
def document(sqlite_drive: gd.Drive) -> dict[str, Any]:
    app = gd.asgi(sqlite_drive)
    assert isinstance(app, FastAPI)
    return app.openapi()


def test_the_permission_table_has_every_route_and_no_other(document: dict[str, Any]) -> None:
    described = {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
    }

    assert set(ROUTES) - UNDESCRIBED == described


def test_every_permission_of_the_table_exists() -> None:
    needed = {one for route in PROTECTED for one in needed_by(route)}

    assert needed <= set(Permission)


def test_every_operation_has_an_id_of_its_own(document: dict[str, Any]) -> None:
    ids = [one["operationId"] for each in document["paths"].values() for one in each.values()]

    assert len(ids) == len(set(ids))


def test_without_a_credential_every_route_answers_401(ask_sqlite: Ask) -> None:
    client = ask_sqlite()

    answers = {route: send(client, route) for route in PROTECTED}

    assert set(answers.values()) == {(401, "application/problem+json")}


def test_every_other_permission_is_refused_before_id_and_body_are_looked_at(
    ask_sqlite: Ask,
) -> None:
    allowed = [
        (route, str(permission))
        for permission in Permission
        for client in [ask_sqlite(permissions=(str(permission),))]
        for route in PROTECTED
        if permission not in needed_by(route)
        if send(client, route) != (403, "application/problem+json")
    ]

    assert allowed == []


def test_the_needed_permission_lets_a_request_pass_to_the_route(ask_sqlite: Ask) -> None:
    refused = [
        (route, permission)
        for route in PROTECTED
        if not route.endswith("/stream")
        for permission in needed_by(route)
        if send(ask_sqlite(permissions=(permission,)), route)[0] in (401, 403, 500)
    ]

    assert refused == []


def test_an_unknown_route_needs_a_credential_too(ask_sqlite: Ask) -> None:
    assert ask_sqlite().get("/api/v1/secrets").status_code == 401
    assert ask_sqlite("admin").get("/api/v1/secrets").status_code == 404
    assert ask_sqlite("admin").delete("/api/v1/executions").status_code == 405


@pytest.mark.parametrize("path", ["/health", "/health/live", "/health/ready", "/docs"])
def test_what_is_public_reveals_nothing_of_the_installation(ask_sqlite: Ask, path: str) -> None:
    answer = ask_sqlite().get(path)

    assert answer.status_code == 200
    assert "sqlite" not in answer.text
