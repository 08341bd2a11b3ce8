"""Dead letters: the list, one entry with its snapshot, retry and resolve."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from geneva_drive.web.dashboard.pages import dead_letters
from tests.web.dashboard.reading import address_of, rows_of, words_of
from tests.web.dashboard.signing_in import Browser, signed_in

HOSTILE = "<script>alert(1)</script>"


class Shipment(gd.Workflow):
    type_name = "DashboardShipment"
    is_broken = True

    @gd.step(
        on_exception=gd.ExceptionPolicy("reattempt", max_reattempts=1, terminal_action="pause")
    )
    def pack(self) -> None:
        if Shipment.is_broken:
            raise ValueError(HOSTILE)


@pytest.fixture
def shipment(sqlite_drive: gd.Drive) -> gd.WorkflowHandle[Any]:
    Shipment.is_broken = True
    workflow = sqlite_drive.workflows(Shipment).create(hero=gd.HeroRef("Order", HOSTILE))
    drain(sqlite_drive)
    if not sqlite_drive.dead_letters.list():
        sqlite_drive.dead_letters.add(workflow, actor="bob", notes=HOSTILE)
    return workflow


@pytest.fixture
def app(sqlite_drive: gd.Drive) -> Any:
    return gd.asgi(sqlite_drive)


@pytest.fixture
def operator(app: Any, sqlite_drive: gd.Drive) -> Browser:
    return signed_in(app, sqlite_drive, "operator", name="ann")


def path_of(drive: gd.Drive) -> str:
    [entry] = drive.dead_letters.list()
    return f"/dead-letters/{entry.id}"


def test_the_list_says_what_happened_to_which_workflow(
    operator: Browser, shipment: gd.WorkflowHandle[Any]
) -> None:
    page = operator.get("/dead-letters").text

    assert "1 workflow needs an operator." in words_of(page)
    [row] = rows_of(page)
    assert row[1:5] == [
        f"DashboardShipment {shipment.id}",
        f"Order {HOSTILE}",
        "pack",
        f"ValueError: {HOSTILE}",
    ]
    assert "<script>" not in page


def test_pages_lead_to_older_entries_and_back(
    operator: Browser, sqlite_drive: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "_PER_PAGE", 2)
    for number in range(5):
        workflow = sqlite_drive.workflows(Shipment).create(hero=gd.HeroRef("Order", number))
        sqlite_drive.dead_letters.add(workflow, actor="bob", notes="lost")

    first = operator.get("/dead-letters").text
    second = operator.get(address_of(first, "next")).text
    third = operator.get(address_of(second, "next")).text
    back = operator.get(address_of(third, "prev")).text
    again = operator.get(address_of(back, "prev")).text

    heroes = [[row[2][-1] for row in rows_of(one)] for one in (first, second, third, back, again)]
    assert heroes == [["4", "3"], ["2", "1"], ["0"], ["2", "1"], ["4", "3"]]
    assert 'rel="prev"' not in first + again
    assert 'rel="next"' not in third


def test_an_entry_shows_its_snapshot(
    operator: Browser, sqlite_drive: gd.Drive, shipment: gd.WorkflowHandle[Any]
) -> None:
    page = operator.get(path_of(sqlite_drive)).text

    assert "The last error in pack , attempt" in words_of(page)
    assert "Unfinished nodes then pack failed" in words_of(page)
    assert "Retry it…" in page
    assert "<script>" not in page


def test_an_entry_is_retried_once(
    operator: Browser, sqlite_drive: gd.Drive, shipment: gd.WorkflowHandle[Any]
) -> None:
    path = path_of(sqlite_drive)
    Shipment.is_broken = False

    question = words_of(operator.get(f"{path}?confirm=retry").text)
    answer = operator.post(f"{path}/retry", {"notes": "mended"})
    late = operator.post(f"{path}/resolve")
    drain(sqlite_drive)

    assert "Retry this workflow? Runs the failed step again" in question
    assert answer.headers["location"] == f"{path}#answer"
    assert "Your click changed nothing." in operator.get(late.headers["location"]).text
    assert shipment.reload().state == "finished"
    page = words_of(operator.get(path).text)
    assert "ann resolved it" in page
    assert "Notes mended" in page


def test_an_entry_is_resolved_and_the_workflow_stays(
    operator: Browser, sqlite_drive: gd.Drive, shipment: gd.WorkflowHandle[Any]
) -> None:
    answer = operator.post(f"{path_of(sqlite_drive)}/resolve", {"notes": "by hand"})
    operator.get(answer.headers["location"])

    assert shipment.reload().state == "paused"
    assert "No dead letters" in operator.get("/dead-letters").text
    assert len(rows_of(operator.get("/dead-letters?state=resolved").text)) == 1


def test_a_viewer_is_offered_nothing_and_refused(
    app: Any, sqlite_drive: gd.Drive, shipment: gd.WorkflowHandle[Any]
) -> None:
    reader = gd.Actor("bob", permissions=["dead_letter:read"])
    viewer = Browser(gd.asgi(sqlite_drive, authenticate=lambda request: reader))
    path = path_of(sqlite_drive)

    page = viewer.get(f"{path}?confirm=retry").text
    refused = viewer.post(f"{path}/retry")

    assert "Retry…" not in page
    assert 'id="confirm"' not in page
    assert refused.status_code == 403


def test_an_unknown_entry_is_a_page(operator: Browser) -> None:
    assert "There is no such dead letter" in operator.get("/dead-letters/99").text
