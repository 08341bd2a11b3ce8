"""Definitions, and the form that starts a workflow."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from html import unescape
from typing import Any

import pytest
from fastapi import FastAPI

import geneva_drive as gd
from tests.web.dashboard.reading import words_of
from tests.web.dashboard.signing_in import Browser, signed_in

HOSTILE = "<script>alert(1)</script>"
DOCUMENT = {
    "workflow_id": "dashboard-check",
    "version": "1",
    "name": HOSTILE,
    "input": {
        "type": "object",
        "properties": {"customer": {"type": "string"}, "rating": {"enum": ["A", "B"]}},
        "required": ["customer"],
    },
    "steps": [{"id": "look", "type": "action", "action": "allow"}],
}


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class CarContext:
    price: Decimal
    name: str
    seats: int = 4
    weight: float | None = None
    colour: Colour = Colour.RED
    is_new: bool = False
    parts: list[str] = field(default_factory=list)


class DashboardCar(gd.Workflow[Any, CarContext]):
    """Build a car."""

    @gd.step
    def weld(self) -> None:
        """Weld the frame."""


class DashboardPlain(gd.Workflow):
    @gd.step
    def act(self) -> None: ...


@pytest.fixture
def operator(app: FastAPI, sqlite_drive: gd.Drive) -> Browser:
    return signed_in(app, sqlite_drive, "operator", name="Ingrid Dahl")


@pytest.fixture
def viewer(app: FastAPI, sqlite_drive: gd.Drive) -> Browser:
    return signed_in(app, sqlite_drive, "viewer", name="Ove Lund")


def test_the_list_has_classes_and_documents(viewer: Browser, sqlite_drive: gd.Drive) -> None:
    sqlite_drive.definitions.deploy(DOCUMENT)
    DashboardCar.using(sqlite_drive).create(context={"price": "1", "name": "a"})

    page = viewer.get("/definitions").text
    words = words_of(page)

    assert "DashboardCar Python Build a car. nobody 1" in words
    assert "dashboard-check JSON, version 1" in words
    assert "Start…" not in words
    assert HOSTILE not in page


def test_the_page_of_a_class_has_its_graph_nodes_and_schema(viewer: Browser) -> None:
    page = viewer.get("/definitions/DashboardCar").text
    words = words_of(page)

    assert "No workflow is ongoing. No running worker serves it. Build a car." in words
    assert "weld step Weld the frame" in words
    assert '"price": {' in words
    assert 'href="#node-weld"' in page
    assert "Start a workflow" not in words
    assert viewer.get("/definitions/Nothing").status_code == 404


def test_a_document_is_disabled_and_enabled(app: FastAPI, sqlite_drive: gd.Drive) -> None:
    admin = signed_in(app, sqlite_drive, "admin")
    sqlite_drive.definitions.deploy(DOCUMENT, actor=HOSTILE)
    sqlite_drive.definitions.deploy({**DOCUMENT, "version": "2"})
    path = "/definitions/dashboard-check"
    older = admin.get(f"{path}?version=1").text
    assert "This is version 1. New workflows get" in words_of(older)
    assert HOSTILE not in older

    assert "Those that are ongoing continue." in admin.get(f"{path}?confirm=disable").text
    admin.post(f"{path}/disable")
    assert not sqlite_drive.definitions.get("dashboard-check").enabled
    assert "It is disabled" in admin.get(path).text
    assert "It is disabled" in admin.get(f"{path}/start").text
    assert admin.post(f"{path}/start", {"context.customer": "x"}).status_code == 409
    admin.post(f"{path}/enable")
    assert sqlite_drive.definitions.get("dashboard-check").enabled


def test_what_a_role_may_not_do_is_refused(
    viewer: Browser, operator: Browser, sqlite_drive: gd.Drive
) -> None:
    sqlite_drive.definitions.deploy(DOCUMENT)
    path = "/definitions/dashboard-check"

    assert viewer.get(f"{path}/start").status_code == 403
    assert viewer.post(f"{path}/start", {"context.customer": "x"}).status_code == 403
    assert operator.post(f"{path}/disable").status_code == 403
    assert "Disable the definition" not in operator.get(f"{path}?confirm=disable").text
    assert sqlite_drive.definitions.get("dashboard-check").enabled


def test_a_workflow_is_started_from_the_form(operator: Browser, sqlite_drive: gd.Drive) -> None:
    page = operator.get("/definitions/DashboardCar/start").text
    assert '<option value="&#34;red&#34;" selected>red</option>' in page

    answer = operator.post(
        "/definitions/DashboardCar/start",
        {
            "hero_type": "Car",
            "hero_id": "7",
            "context.price": "12.50",
            "context.name": "x",
            "context.seats": "5",
            "context.weight": "",
            "context.colour": '"blue"',
            "context.is_new": "yes",
            "context.parts": '["a", "b"]',
        },
    )

    (made,) = DashboardCar.using(sqlite_drive).query()
    assert answer.headers["location"] == f"/workflows/{made.id}#answer"
    assert made.started_by == "Ingrid Dahl"
    assert (made.hero_type, made.hero_id) == ("Car", "7")
    context = dict(made.context)
    assert (context["price"], context["seats"], context["weight"]) == (Decimal("12.50"), 5, None)
    assert (context["is_new"], context["parts"]) == (True, ["a", "b"])
    assert str(context["colour"]).endswith("BLUE") or context["colour"] == "blue"


def test_faults_stand_beside_the_fields_and_nothing_is_lost(
    operator: Browser, sqlite_drive: gd.Drive
) -> None:
    path = "/definitions/DashboardCar/start"
    wrong = {"context.name": HOSTILE, "context.seats": "four", "context.parts": "[", "queue": "q"}

    answer = operator.post(path, {**wrong, "hero_type": "Car"})
    words = words_of(answer.text)

    assert answer.status_code == 422
    for fault in ("Write a whole number", "This is not JSON", "A hero needs both"):
        assert fault in words
    assert HOSTILE not in answer.text
    assert f'value="{HOSTILE}"'.replace("<", "&lt;").replace(">", "&gt;") in answer.text
    assert 'value="four"' in answer.text
    # What only the context type knows comes back to its field too.
    second = operator.post(path, {"context.name": "x", "context.price": "cheap"}).text
    fault = second.partition('id="f-context.price-words"')[2].partition("</p>")[0]
    assert "Input should be a valid decimal" in fault
    missing = operator.post(path, {"context.price": "1"}).text
    assert "Field required" in missing.partition('id="f-context.name-words"')[2][:400]
    assert list(DashboardCar.using(sqlite_drive).query()) == []


def test_a_hero_that_has_one_is_asked_about(operator: Browser, sqlite_drive: gd.Drive) -> None:
    path = "/definitions/DashboardPlain/start"
    fields = {"hero_type": "Car", "hero_id": "7", "context": '{"a": 1}'}
    operator.post(path, fields)

    refused = operator.post(path, fields)
    assert refused.status_code == 422
    assert "This hero has an ongoing workflow" in refused.text
    assert operator.post(path, {**fields, "allow_multiple": "yes"}).status_code == 303
    assert operator.post(path, {"context": "[1]"}).status_code == 422
    assert len(list(DashboardPlain.using(sqlite_drive).query())) == 2


def test_an_idempotency_key_and_a_double_submit_start_once(
    operator: Browser, sqlite_drive: gd.Drive
) -> None:
    path = "/definitions/DashboardPlain/start"
    first = operator.post(path, {"idempotency_key": "k", "once": "1"})
    twice = operator.post(path, {"idempotency_key": "k", "once": "1"})
    again = operator.post(path, {"idempotency_key": "k", "once": "2"})

    (made,) = DashboardPlain.using(sqlite_drive).query()
    assert {one.headers["location"] for one in (first, twice, again)} == {
        f"/workflows/{made.id}#answer"
    }


def test_start_like_this_one_keeps_exact_and_masked_values(sqlite_drive: gd.Drive) -> None:
    sqlite_drive.settings = replace(sqlite_drive.settings, masked_fields=frozenset({"name"}))
    operator = signed_in(gd.asgi(sqlite_drive), sqlite_drive, "operator")
    context = CarContext(Decimal("1.10"), "secret name", parts=["a"])
    model = DashboardCar.using(sqlite_drive).create(
        hero=gd.HeroRef("Car", "7"), context=context, allow_multiple=True
    )
    path = "/definitions/DashboardCar/start"

    page = operator.get(f"{path}?like={model.id}").text
    assert "secret name" not in page
    texts = {
        name: unescape(page.partition(f'name="context.{name}"')[0].rpartition('value="')[2])
        for name in ("price", "name")
    }
    price, name = (one.partition('"')[0] for one in texts.values())
    assert price == "1.10"
    operator.post(
        path,
        {
            "like": str(model.id),
            "context.price": price,
            "context.name": name,
            "context.seats": "2",
            "context.colour": '"red"',
            "context.parts": '[\n  "a"\n]',
        },
    )

    made = [one for one in DashboardCar.using(sqlite_drive).query() if one.id != model.id]
    assert [(one.context["name"], one.context["seats"]) for one in made] == [("secret name", 2)]
    assert made[0].context["price"] == Decimal("1.10")
    assert "The form is empty" in operator.get(f"{path}?like=999").text


def test_the_buttons_lead_to_the_definitions(
    operator: Browser, viewer: Browser, sqlite_drive: gd.Drive
) -> None:
    DashboardPlain.using(sqlite_drive).create()

    for page in ("/", "/workflows"):
        assert 'href="/definitions"><span>Start a workflow…' in operator.get(page).text
        assert "Start a workflow…" not in viewer.get(page).text
