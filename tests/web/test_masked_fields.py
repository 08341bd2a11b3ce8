from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

import geneva_drive as gd
from geneva_drive.cli.main import cli
from geneva_drive.masked_fields import mask
from geneva_drive.testing import drain
from tests.web.conftest import client_maker

CARD = "4111-1111"


@dataclass
class Payout:
    amount: int
    card: str


class Charge(gd.Workflow):
    @gd.approval(
        role="clerk",
        show=lambda self: {"card": self.context["card"]},
        form=Payout,
        initial=lambda self: {"amount": 5, "card": self.context["card"]},
    )
    def check(self, decision: gd.ApprovalDecision[Payout]) -> None: ...

    @gd.step(keep_result=True)
    def pay(self) -> dict[str, Any]:
        return {"paid_with": [{"card": self.result_of(Charge.check).data.card}]}


@pytest.fixture
def drive(migrated_sqlite_url: str) -> Iterator[gd.Drive]:
    drive = gd.Drive(migrated_sqlite_url, masked_fields=["card"], public_url="https://a.example")
    yield drive
    drive.close()


@pytest.fixture
def charge(drive: gd.Drive) -> gd.WorkflowHandle[Charge]:
    workflow = Charge.using(drive).create(context={"card": CARD, "order": {"card": CARD, "n": 1}})
    drain(drive)
    return workflow


def test_every_field_of_the_name_shows_dots_at_any_depth() -> None:
    given = {"card": 1, "order": [{"card": {"number": 2}, "n": 3}], "pin": None}

    assert mask(given, {"card", "pin"}) == {
        "card": "•••",
        "order": [{"card": "•••", "n": 3}],
        "pin": None,
    }


def test_the_api_shows_dots_and_code_reads_the_value(
    drive: gd.Drive, charge: gd.WorkflowHandle[Charge]
) -> None:
    client = client_maker(drive)("admin", "clerk")
    [approval] = drive.approvals.pending()
    approval.approve(by="ann", data={"amount": 5, "card": CARD})
    drain(drive)
    drive.publish("paid", {"card": CARD})

    bodies = [
        client.get(path).text
        for path in (
            f"/api/v1/executions/{charge.id}/trace",
            "/api/v1/executions?include=context",
            f"/api/v1/approvals/{approval.id}",
            "/api/v1/events",
        )
    ]

    assert [CARD in body for body in bodies] == [False] * 4
    assert ["•••" in body for body in bodies] == [True] * 4
    assert charge.reload().context["card"] == CARD
    assert charge.result == {"paid_with": [{"card": CARD}]}


def test_the_command_line_shows_dots(
    drive: gd.Drive, charge: gd.WorkflowHandle[Charge], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GENEVA_DATABASE_URL", drive.database_url)
    monkeypatch.setenv("GENEVA_MASKED_FIELDS", "card")
    approval = drive.approvals.pending().ids()[0]
    commands = (["show", str(charge.id)], ["list", "--json"], ["approvals", str(approval)])

    printed = [CliRunner().invoke(cli, command).output for command in commands]

    assert [CARD in text for text in printed] == [False] * 3
    assert "•••" in printed[0]
    assert json.loads(printed[1])["items"][0]["context"]["order"] == {"card": "•••", "n": 1}
    assert "•••" in printed[2]


def test_a_decision_link_keeps_a_masked_value_that_is_left_empty(
    drive: gd.Drive, charge: gd.WorkflowHandle[Charge]
) -> None:
    [approval] = drive.approvals.pending()
    link = approval.link(for_="ann").removeprefix("https://a.example")
    client = TestClient(gd.asgi(drive))

    page = client.get(link).text
    client.post(link, data={"choice": "approve", "amount": "4", "card": ""})

    assert CARD not in page
    assert '<input type="password" value="" id="f-card" name="card"' in page
    assert approval.reload().data == {"amount": 4, "card": CARD}
