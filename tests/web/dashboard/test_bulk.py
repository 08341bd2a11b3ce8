"""One command for many workflows of the list."""

from __future__ import annotations

import re
from html import unescape

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.dashboard.reading import words_of
from tests.web.dashboard.signing_in import Browser, signed_in


class Parcel(gd.Workflow):
    type_name = "BulkParcel"

    @gd.step(wait="1d")
    def ship(self) -> None: ...


@pytest.fixture
def three(sqlite_drive: gd.Drive) -> list[str]:
    return [str(sqlite_drive.workflows(Parcel).create().id) for _ in range(3)]


@pytest.fixture
def operator(sqlite_drive: gd.Drive) -> Browser:
    return signed_in(gd.asgi(sqlite_drive), sqlite_drive, "operator", name="ann")


def states(drive: gd.Drive, ids: list[str]) -> list[str]:
    return [str(drive.workflows(Parcel).find(one).state) for one in ids]


def fields_of(page: str) -> dict[str, str | list[str]]:
    """Return the hidden fields of the question's form, as a browser would send them."""
    form = page.partition('id="confirm"')[2]
    found: dict[str, str | list[str]] = {}
    for name, value in re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form):
        known = found.get(name)
        text = unescape(value)
        found[name] = (
            text if known is None else [*([known] if isinstance(known, str) else known), text]
        )
    return found


def test_the_question_has_the_exact_count_and_what_happens(
    operator: Browser, sqlite_drive: gd.Drive, three: list[str]
) -> None:
    sqlite_drive.workflows(Parcel).find(three[0]).pause(actor="bob")

    page = words_of(operator.get(f"/workflows/bulk?command=pause&id={'&id='.join(three)}").text)

    assert "Pause 2 workflows? All pause at once. Scheduled steps keep their times." in page
    assert "1 of those you chose is left as it is: pause does not apply." in page
    assert states(sqlite_drive, three) == ["paused", "ready", "ready"]


def test_the_chosen_get_the_command_with_actor_and_reason(
    operator: Browser, sqlite_drive: gd.Drive, three: list[str]
) -> None:
    page = operator.get(f"/workflows/bulk?command=pause&id={three[0]}&id={three[1]}").text

    answer = operator.post("/workflows/bulk", {**fields_of(page), "reason": "stock taking"})
    shown = words_of(operator.get(answer.headers["location"]).text)

    assert answer.headers["location"] == "/workflows#answer"
    assert "Paused 2 workflows The list shows their current state." in shown
    assert states(sqlite_drive, three) == ["paused", "paused", "ready"]
    [entry] = sqlite_drive.workflows(Parcel).find(three[0]).audit_entries
    assert (entry.command, entry.actor, entry.reason) == ("pause", "ann", "stock taking")


def test_a_form_that_is_sent_twice_acts_once(
    operator: Browser, sqlite_drive: gd.Drive, three: list[str]
) -> None:
    page = operator.get(f"/workflows/bulk?command=pause&id={three[0]}").text
    fields = fields_of(page)
    operator.post("/workflows/bulk", fields)
    sqlite_drive.workflows(Parcel).find(three[0]).resume(actor="bob")

    again = operator.post("/workflows/bulk", fields)

    assert "Paused 1 workflow" in operator.get(again.headers["location"]).text.replace("\xa0", " ")
    assert states(sqlite_drive, three) == ["ready", "ready", "ready"]


def test_those_that_changed_meanwhile_are_told(
    operator: Browser, sqlite_drive: gd.Drive, three: list[str]
) -> None:
    page = operator.get(f"/workflows/bulk?command=cancel&id={three[0]}&id={three[1]}").text
    sqlite_drive.workflows(Parcel).find(three[1]).cancel(actor="bob")

    answer = operator.post("/workflows/bulk", fields_of(page))

    shown = words_of(operator.get(answer.headers["location"]).text)
    assert "Canceled 1 workflow It was too late for 1 workflow, which did not change." in shown
    assert "Cannot cancel a canceled workflow." in shown


def test_all_that_match_are_given_to_a_workflow_of_its_own(
    operator: Browser, sqlite_drive: gd.Drive, three: list[str]
) -> None:
    question = operator.get("/workflows/bulk?command=cancel&type=BulkParcel&all=yes").text

    answer = operator.post("/workflows/bulk", {**fields_of(question), "reason": "test data"})
    shown = words_of(operator.get(answer.headers["location"]).text)
    drain(sqlite_drive)

    assert "Cancel 3 workflows? They end now." in words_of(question)
    assert answer.headers["location"] == "/workflows?type=BulkParcel#answer"
    assert "Canceling all that match This runs on the server as workflow 4" in shown
    assert states(sqlite_drive, three) == ["canceled"] * 3


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("command=explode&id=1", "The command must be resume, pause or cancel."),
        ("command=pause", "Choose from 1 to 100 workflows, or all that match."),
    ],
)
def test_a_question_that_cannot_be_asked_says_why(
    operator: Browser, query: str, words: str
) -> None:
    answer = operator.get(f"/workflows/bulk?{query}")

    assert (answer.status_code, words in answer.text) == (422, True)


def test_a_command_is_refused_without_its_permission(
    sqlite_drive: gd.Drive, three: list[str]
) -> None:
    pauser = gd.Actor("pauser", permissions=["execution:read", "execution:pause"])
    browser = Browser(gd.asgi(sqlite_drive, authenticate=lambda request: pauser))

    page = browser.get("/workflows").text
    question = browser.get(f"/workflows/bulk?command=cancel&id={three[0]}")
    answer = browser.post("/workflows/bulk", {"command": "cancel", "id": three[0]})

    assert 'value="pause"' in page
    assert 'value="cancel"' not in page
    assert (question.status_code, answer.status_code) == (403, 403)
    assert "This needs the permission execution:cancel." in question.text
    assert states(sqlite_drive, three) == ["ready"] * 3


def test_a_viewer_selects_nothing(sqlite_drive: gd.Drive, three: list[str]) -> None:
    browser = signed_in(gd.asgi(sqlite_drive), sqlite_drive, "viewer")

    page = browser.get("/workflows").text

    assert 'type="checkbox"' not in page
    assert "data-bulk-bar" not in page
    assert browser.get(f"/workflows/bulk?command=pause&id={three[0]}").status_code == 403
