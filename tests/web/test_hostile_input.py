"""What a stranger may send: SQL, paths, markup, cursors of their own. Never a 500."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.conftest import client_maker
from tests.web.shop import Flaky, Parcel, Refund

HOSTILE = [
    "' OR 1=1 --",
    "1; DROP TABLE geneva_drive_workflows",
    "1 UNION SELECT secret_hash FROM geneva_drive_api_keys",
    "%",
    "_",
    "\\",
    "../../etc/passwd",
    "..%2f..%2f",
    "/etc/passwd",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "%(password)s",
    "{0.__class__}",
    "\u202e\u0000x",
    "a\x00b",
    "😀" * 40,
    "9" * 60,
    "-1",
    "1e3",
    "NaN",
    "0x10",
    "٣",
    "1_0",
    " 1",
    "null",
    "\r\nSet-Cookie: a=b",
]
API = "/api/v1"
LISTS = ("executions", "approvals", "events", "dead-letters", "audit", "executions/{}/steps")


@pytest.fixture
def drive(geneva: gd.Drive) -> gd.Drive:
    Refund.using(geneva).create(context={"amount": 5, "customer": "Eve"})
    Flaky.using(geneva).create()
    for number in range(3):
        Parcel.using(geneva).create(
            context={"address": "x"}, hero=gd.HeroRef("Order", f"A-{number}")
        )
    drain(geneva)
    return geneva


@pytest.fixture
def failed_id(drive: gd.Drive) -> Any:
    return drive.workflows(Flaky).query().ids()[0]


@pytest.fixture
def client(drive: gd.Drive) -> TestClient:
    return client_maker(drive)("admin")


Answers = list[tuple[str, int, str]]


def wrong(asked: Iterable[tuple[str, Any]], *allowed: int) -> Answers:
    """Return the answers that are neither one of these nor a problem with a code."""
    found = [(text, answer.status_code, answer.text) for text, answer in asked]
    return [
        one for one in found if one[1] not in allowed or (one[1] > 299 and "code" not in one[2])
    ]


def test_hostile_ids_are_not_found(client: TestClient) -> None:
    parts = [quote(text, safe="") for text in HOSTILE]
    read = (
        *("executions/{}", "executions/{}/trace", "executions/{}/graph", "approvals/{}"),
        *("events/{}", "dead-letters/{}", "workflows/{}"),
    )
    done = ("executions/{}/pause", "schedules/{}/run", "approvals/{}/approve")

    asked = [(one, client.get(f"{API}/{path.format(one)}")) for one in parts for path in read]
    asked += [(one, client.post(f"{API}/{path.format(one)}")) for one in parts for path in done]

    assert wrong(asked, 404, 405, 422) == []


def test_hostile_names_of_steps_are_refused(client: TestClient, failed_id: int) -> None:
    steps = f"{API}/executions/{failed_id}/steps"
    body = {"action_type": "reattempt"}

    asked = [(text, client.patch(f"{steps}/{quote(text, safe='')}", json=body)) for text in HOSTILE]

    assert wrong(asked, 404, 405, 422) == []


def test_hostile_filters_select_nothing(client: TestClient) -> None:
    names = ("type", "step", "queue", "paused_reason", "error_class", "hero_type", "hero_id", "q")
    wanted = [("executions", name) for name in names] + [("approvals", "role"), ("events", "type")]

    asked = [
        (text, client.get(f"{API}/{path}", params={name: text}))
        for text in HOSTILE
        for path, name in wanted
    ]

    assert wrong(asked, 200, 422) == []
    found = [text for text, one in asked if one.status_code == 200 and one.json()["items"]]
    assert found == []


def test_hostile_values_are_stored_as_they_are_or_refused(client: TestClient) -> None:
    asked = [(text, client.post(f"{API}/executions", json=_start(text))) for text in HOSTILE]
    asked += [
        (text, client.post(f"{API}/events", json={"type": "a", "payload": text, "id": text}))
        for text in HOSTILE
    ]

    assert wrong(asked, 201, 422) == []
    stored = [(text, one.json()) for text, one in asked if one.status_code == 201]
    assert len(stored) > len(HOSTILE)
    assert [one for text, one in stored if one.get("payload", text) != text] == []


def _start(text: str) -> dict[str, Any]:
    return {"workflow": "Parcel", "context": {"address": text}, "idempotency_key": text}


def test_the_tables_are_still_there(client: TestClient) -> None:
    for text in HOSTILE:
        client.get(f"{API}/executions", params={"q": text})

    assert len(client.get(f"{API}/executions").json()["items"]) == 5


@pytest.mark.parametrize("path", LISTS)
def test_a_cursor_of_a_stranger_is_refused(client: TestClient, path: str, failed_id: int) -> None:
    address = f"{API}/{path.format(failed_id)}"

    @settings(max_examples=25, derandomize=True, database=None)
    @given(st.one_of(st.text(max_size=70), st.from_regex(r"[A-Za-z0-9_\-=]{1,64}", fullmatch=True)))
    def ask(cursor: str) -> None:
        answer = client.get(address, params={"cursor": cursor})
        assert answer.status_code in (200, 422), answer.text

    ask()


def test_a_limit_out_of_bounds_is_refused(client: TestClient) -> None:
    limits = ("0", "101", "-1", "x", "1.5", "9" * 30, "")

    asked = [(one, client.get(f"{API}/executions", params={"limit": one})) for one in limits]

    assert wrong(asked, 422) == []


BODIES = (
    *(b"", b"null", b"[]", b'"x"', b"{", b"\xff", b'{"workflow": 1}'),
    b'{"workflow": "Parcel", "contxt": {}}',
    b'{"workflow": "Parcel", "context": []}',
    b'{"workflow": "Parcel", "context": {"address": "x"}, "priority": "high"}',
    b'{"workflow": "Parcel", "context": {"address": "x"}, "priority": 99999999999999999999}',
    b'{"workflow": "Parcel", "context": {"address": "x"}, "wait": "soon"}',
    b'{"workflow": "Parcel", "context": {"address": "x"}, "wait": "2026-13-45T00:00:00Z"}',
    b'{"workflow": "Parcel", "context": {"address": "x"}, "wait": 1e308}',
    b'{"workflow": "Parcel", "context": {"address": "x"}, "wait": NaN}',
    b'{"workflow": "Parcel", "context": {"address": NaN}}',
    b'{"workflow": "Refund", "context": {"amount": NaN}}',
    b'{"workflow": "Refund", "context": {"amount": -Infinity}}',
    b'{"workflow": "Parcel", "context": {"$type": "datetime", "value": 7}}',
    b'{"workflow": "Parcel", "hero_type": "Order"}',
    b'{"workflow": "Parcel", "context": ' + b'{"a":' * 3000 + b"1" + b"}" * 3001,
)


def test_a_body_that_makes_no_sense_is_refused(client: TestClient) -> None:
    kind = {"Content-Type": "application/json"}

    asked = [
        (ascii(body[:90]), client.post(f"{API}/executions", content=body, headers=kind))
        for body in BODIES
    ]

    assert wrong(asked, 422) == []


def test_text_that_utf_8_cannot_write_is_shown_escaped(client: TestClient) -> None:
    body = b'{"workflow": "Refund", "context": {"customer": "\\ud800", "amount": 1}}'
    kind = {"Content-Type": "application/json"}

    started = client.post(f"{API}/executions", content=body, headers=kind)
    listed = client.get(f"{API}/executions", params={"include": "context", "limit": 1})

    assert (started.status_code, listed.status_code) == (201, 200)
    assert b"\\ud800" in listed.content


def test_numbers_that_json_does_not_have_are_refused_in_events_too(client: TestClient) -> None:
    answer = client.post(f"{API}/events", content=b'{"type": "a", "payload": [NaN]}')

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")
    assert answer.json()["detail"] == "The body cannot be read as JSON, which has no NaN."
