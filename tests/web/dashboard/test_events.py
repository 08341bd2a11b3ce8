"""Events: the list, one event, and the form that publishes."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from html import unescape

import pytest
from fastapi import FastAPI

import geneva_drive as gd
from geneva_drive.drive.search import pages
from geneva_drive.testing import drain
from geneva_drive.web.dashboard.pages.events import page
from tests.web.dashboard.reading import address_of, rows_of, words_of
from tests.web.dashboard.signing_in import Browser, signed_in

HOSTILE = "<script>alert(1)</script>"


class DashboardPayment(gd.Workflow):
    @gd.wait_for_event("payment.received", key=lambda self: self.hero_id)
    def payment(self, event: gd.Event) -> None: ...


@pytest.fixture
def operator(app: FastAPI, sqlite_drive: gd.Drive) -> Browser:
    return signed_in(app, sqlite_drive, "operator")


@pytest.fixture
def viewer(app: FastAPI, sqlite_drive: gd.Drive) -> Browser:
    return signed_in(app, sqlite_drive, "viewer", name="Ove Lund")


def waiting(drive: gd.Drive, *heroes: str) -> list[object]:
    found = [
        DashboardPayment.using(drive).create(hero=gd.HeroRef("Order", one)).id for one in heroes
    ]
    drain(drive)
    return found


def test_the_list_says_who_heard_what(viewer: Browser, sqlite_drive: gd.Drive) -> None:
    assert "No events are stored" in viewer.get("/events").text
    waiting(sqlite_drive, "a")
    sqlite_drive.publish("payment.received", {"note": HOSTILE}, key="a", source="bank")
    sqlite_drive.publish("stock.low", key=HOSTILE)

    page = viewer.get("/events").text

    assert "1 of these 2 reached no workflow." in words_of(page)
    heard = [row[4].replace("\N{NO-BREAK SPACE}", " ") for row in rows_of(page)]
    assert heard == ["by no workflow", "1 continued"]
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    assert len(rows_of(viewer.get("/events?type=stock.low").text)) == 1
    assert len(rows_of(viewer.get("/events?key=a").text)) == 1
    assert "No event matches" in viewer.get("/events?type=x&key=y").text
    assert "named no place" in viewer.get("/events?older=x").text
    assert "named no place" in viewer.get("/events?newer=x").text


def test_pages_lead_to_older_events_and_back(
    viewer: Browser, sqlite_drive: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "PER_PAGE", 2)
    monkeypatch.setattr(pages, "_MOST_LOOKED_AT", 2)
    for key in ("z", "b", "c", "d", "e"):
        sqlite_drive.publish("stock.low", key=key)

    first = viewer.get("/events?type=stock.low").text
    second = viewer.get(address_of(first, "next")).text
    third = viewer.get(address_of(second, "next")).text
    back = viewer.get(address_of(third, "prev")).text
    again = viewer.get(address_of(back, "prev")).text

    keys = [[row[2] for row in rows_of(one)] for one in (first, second, third, back, again)]
    assert keys == [["e", "d"], ["c", "b"], ["z"], ["c", "b"], ["e", "d"]]
    assert 'rel="prev"' not in first + again
    assert 'rel="next"' not in third
    # Only so many are looked at on the way back, too.
    oldest = sqlite_drive.published(key="z")[0].number
    short = viewer.get(f"/events?key=e&newer={oldest}").text
    assert "Newer ones may." in short
    newer = short.partition("Look at newer ones")[0].rpartition('href="')[2].partition('"')[0]
    assert [row[2] for row in rows_of(viewer.get(unescape(newer)).text)] == ["e"]


def test_an_event_names_who_continued_and_who_nearly_did(
    viewer: Browser, sqlite_drive: gd.Drive
) -> None:
    continued, missed = waiting(sqlite_drive, "a", "b")
    event = sqlite_drive.publish("payment.received", {"note": HOSTILE}, key="a")

    page = viewer.get(f"/events/{event.number}").text
    words = words_of(page).replace("\N{NO-BREAK SPACE}", " ")

    assert "It let 1 workflow continue. 1 workflow waits for its type, but with" in words
    assert f"DashboardPayment {continued}" in words
    assert f"DashboardPayment {missed} paused Order b b" in words  # its hero, and the key
    assert HOSTILE not in page
    assert "Publish again" not in words
    assert viewer.get("/events/999").status_code == 404


def test_an_event_is_published_from_the_form(operator: Browser, sqlite_drive: gd.Drive) -> None:
    waiting(sqlite_drive, "a")
    assert "Publish the event" in operator.get("/events?publish=1").text

    answer = operator.post(
        "/events", {"type": "payment.received", "key": "a", "payload": '{"amount": 12}'}
    )

    (event,) = sqlite_drive.published()
    assert answer.headers["location"] == f"/events/{event.number}#answer"
    assert (event.payload, event.source) == ({"amount": 12}, "dashboard")
    assert "It let 1" in words_of(operator.get(f"/events/{event.number}").text)


def test_faults_stand_beside_the_fields_and_nothing_is_lost(
    operator: Browser, sqlite_drive: gd.Drive
) -> None:
    answer = operator.post("/events", {"type": "", "key": HOSTILE, "payload": "{oops"})

    assert answer.status_code == 422
    words = words_of(answer.text)
    assert "Write the type" in words
    assert "This is not JSON" in words
    assert "{oops" in words
    assert "&lt;script&gt;" in answer.text
    assert HOSTILE not in answer.text
    assert sqlite_drive.published() == []


def test_publishing_again_keeps_types_and_what_is_masked(sqlite_drive: gd.Drive) -> None:
    sqlite_drive.settings = replace(sqlite_drive.settings, masked_fields=frozenset({"card"}))
    operator = signed_in(gd.asgi(sqlite_drive), sqlite_drive, "operator")
    first = sqlite_drive.publish("paid", {"card": "4111", "on": date(2026, 11, 17)}, key="a")

    page = operator.get(f"/events?publish=1&again={first.number}").text
    shown = page.partition('name="payload"')[2].partition(">")[2].partition("</textarea>")[0]
    fields = {"type": "paid", "again": str(first.number), "payload": unescape(shown)}
    operator.post("/events", fields)

    assert "4111" not in page
    newest = sqlite_drive.published()[0]
    assert newest.number != first.number
    assert newest.payload == first.payload


def test_a_viewer_may_not_publish(viewer: Browser, sqlite_drive: gd.Drive) -> None:
    assert "Publish the event" not in viewer.get("/events?publish=1").text

    answer = viewer.post("/events", {"type": "payment.received"})

    assert answer.status_code == 403
    assert sqlite_drive.published() == []


def test_a_payment_with_a_wrong_key_is_published_again_from_the_workflow_that_waits(
    operator: Browser, sqlite_drive: gd.Drive
) -> None:
    [waits, _] = waiting(sqlite_drive, "A-1007", "B-2")
    wrong = sqlite_drive.publish("payment.received", {"amount": 99}, key="A-l007", source="bank")

    page = operator.get(f"/workflows/{waits}").text
    found = re.search(r'href="([^"]*again=[^"]*)#publish"', page)
    assert found is not None
    form = operator.get(unescape(found[1])).text
    sent = operator.post(
        "/events",
        {
            "type": "payment.received",
            "key": "A-1007",
            "payload": '{"amount": 99}',
            "wait": str(waits),
            "reason": "A letter for a digit",
        },
    )

    assert f"Event {wrong.number} came" in words_of(page)
    assert 'value="A-1007"' in form
    assert f'name="wait" value="{waits}"' in form
    assert sent.headers["location"] == f"/workflows/{waits}#answer"
    [entry] = rows_of(operator.get("/audit").text)
    assert (entry[2], entry[5]) == ("publish", "A letter for a digit")
    drain(sqlite_drive)
    assert sqlite_drive.workflows(DashboardPayment).find(waits).state == "finished"
