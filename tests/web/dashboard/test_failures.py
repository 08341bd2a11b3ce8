"""Failures in groups, and one command for a group."""

from __future__ import annotations

import json
import re
import shlex
from datetime import timedelta
from html import unescape
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import drain
from geneva_drive.web.dashboard.shell import answer_cache
from tests.web.dashboard.reading import words_of
from tests.web.dashboard.signing_in import Browser, signed_in
from tests.web.serving import geneva

HOSTILE = "<script>alert(1)</script>"


class Flaky(gd.Workflow):
    type_name = "DashboardFlaky"
    is_away = True

    @gd.step
    def call(self) -> None:
        """Call the bank."""
        if Flaky.is_away:
            raise ConnectionError(f"No answer after {self.context['n']} s: {HOSTILE}")

    @gd.step
    def send_mail(self) -> None: ...


@pytest.fixture
def failed(sqlite_drive: gd.Drive) -> list[gd.WorkflowHandle[Any]]:
    Flaky.is_away = True
    made = [
        sqlite_drive.workflows(Flaky).create(
            context={"n": n}, hero=gd.HeroRef("Order", f"{n}{HOSTILE}")
        )
        for n in range(3)
    ]
    drain(sqlite_drive)
    return made


@pytest.fixture
def app(sqlite_drive: gd.Drive) -> Any:
    return gd.asgi(sqlite_drive)


@pytest.fixture
def operator(app: Any, sqlite_drive: gd.Drive) -> Browser:
    return signed_in(app, sqlite_drive, "operator", name="ann")


def opened(browser: Browser, command: str = "") -> str:
    """Return the page with the first group open, and its question if a command is named."""
    found = re.search(r"open=([0-9a-f]{12})", browser.get("/failures").text)
    assert found is not None
    more = f"&confirm={command}" if command else ""
    return str(browser.get(f"/failures?open={found[1]}{more}").text)


def fields_of(page: str) -> dict[str, str]:
    form = page.partition('id="confirm"')[2].partition("</form>")[0]
    found = re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form)
    return {name: unescape(value) for name, value in found if name != "csrf"}


def states(workflows: list[gd.WorkflowHandle[Any]]) -> list[str]:
    return [str(one.reload().state) for one in workflows]


def test_groups_say_how_many_and_how_they_stand(
    operator: Browser, failed: list[gd.WorkflowHandle[Any]]
) -> None:
    page = operator.get("/failures").text
    read = words_of(page)

    assert "1 group holds 3 workflows. It began at" in read
    assert "and still grows." in read
    assert "3 paused ConnectionError No answer after # s: <script>alert( # )</script>" in read
    assert "DashboardFlaky, step call" in read
    assert "<script>" not in page


def test_an_open_group_shows_the_line_that_raised_and_the_latest(
    operator: Browser, failed: list[gd.WorkflowHandle[Any]]
) -> None:
    page = opened(operator)

    read = words_of(page)
    assert "raise ConnectionError(" in read
    assert "in call" in read
    assert f"Latest of 3 {failed[2].id} Order 2{HOSTILE}" in read
    assert "List all 3 Copy as CLI" in read
    assert "<script>" not in page


def test_the_question_has_the_exact_count_and_what_happens(
    operator: Browser, failed: list[gd.WorkflowHandle[Any]]
) -> None:
    failed[0].cancel(actor="bob")

    read = words_of(opened(operator, "resume"))

    assert "Resume 2 workflows? Each runs call again. Then send_mail ." in read
    assert "One first , the rest when it succeeds" in read
    assert "In growing batches, stop after" in read
    assert "Resume 1 of 2" in read
    assert states(failed) == ["canceled", "paused", "paused"]


def test_one_goes_first_then_the_rest(
    operator: Browser, sqlite_drive: gd.Drive, failed: list[gd.WorkflowHandle[Any]]
) -> None:
    fields = fields_of(opened(operator, "resume"))
    [link] = re.findall(r'href="([^"]*open=[^"]*-paused)#', operator.get("/failures").text)[:1]
    Flaky.is_away = False

    answer = operator.post("/failures", {**fields, "pace": "first", "reason": "bank is back"})
    shown = words_of(operator.get(answer.headers["location"]).text)
    drain(sqlite_drive)
    after_the_first = sorted(states(failed))
    sqlite_drive.clock = ShiftedClock(sqlite_drive.clock, timedelta(minutes=1))
    drain(sqlite_drive)

    assert after_the_first == ["finished", "paused", "paused"]
    assert answer.headers["location"] == "/failures#answer"
    assert "Resuming 1 of 3 workflows The other 2 follow once it has passed the step." in shown
    assert "Watch its progress" in shown
    assert states(failed) == ["finished"] * 3
    assert failed[0].audit_entries[-1].actor == "ann"
    assert failed[0].audit_entries[-1].reason == "bank is back"
    bulk = operator.get(f"/workflows/{failed[-1].id + 1}").text
    assert "Resume 3 workflows" in words_of(bulk).replace("\N{NO-BREAK SPACE}", " ")
    assert f"Tried first: {failed[0].id} , which passed its step." in words_of(bulk)
    # The address of the group opens what it has become, whose list has its workflows.
    answer_cache.forget(sqlite_drive)
    repaired = operator.get(link).text
    assert "Latest of 3" in words_of(repaired)
    listed = re.findall(r'href="(/workflows[?][^"]*)">List all', repaired)
    assert "3 match" in words_of(operator.get(unescape(listed[0])).text)


def test_a_group_is_resumed_from_a_shell(
    operator: Browser, sqlite_drive: gd.Drive, failed: list[gd.WorkflowHandle[Any]]
) -> None:
    found = re.search(r'<code id="cli" hidden>(.*?)</code>', opened(operator))
    assert found is not None
    program, *arguments = shlex.split(unescape(found[1]))
    options = ["--database", sqlite_drive.database_url, "--dry-run", "--json"]

    printed = geneva(*arguments, *options)

    assert program == "geneva"
    assert json.loads("".join(printed))["count"] == 3


def test_a_list_of_more_than_the_group_names_no_count(
    operator: Browser, sqlite_drive: gd.Drive, failed: list[gd.WorkflowHandle[Any]]
) -> None:
    sqlite_drive.workflows(Flaky).create(context={"n": "many of them, such as"})
    drain(sqlite_drive)

    assert "List all with this error" in words_of(opened(operator))


def test_a_group_is_canceled(
    operator: Browser, sqlite_drive: gd.Drive, failed: list[gd.WorkflowHandle[Any]]
) -> None:
    page = opened(operator, "cancel")

    operator.post("/failures", fields_of(page))
    drain(sqlite_drive)

    assert "Cancel 3 workflows? They end now." in words_of(page)
    assert states(failed) == ["canceled"] * 3


def test_what_cannot_be_read_starts_nothing(
    operator: Browser, sqlite_drive: gd.Drive, failed: list[gd.WorkflowHandle[Any]]
) -> None:
    fields = fields_of(opened(operator, "resume"))

    wrong = operator.post("/failures", {**fields, "pace": "stop", "stop_after": "many"})
    shown = operator.get(wrong.headers["location"]).text
    nothing = operator.post("/failures", {"command": "resume"})
    unknown = operator.post("/failures", {**fields, "command": "skip"})

    assert "Stop after: write how many" in shown
    assert (nothing.status_code, unknown.status_code) == (422, 422)
    drain(sqlite_drive)
    assert states(failed) == ["paused"] * 3


def test_a_viewer_is_offered_nothing_and_refused(
    app: Any, sqlite_drive: gd.Drive, operator: Browser, failed: list[gd.WorkflowHandle[Any]]
) -> None:
    fields = fields_of(opened(operator, "resume"))
    viewer = signed_in(app, sqlite_drive, "viewer", name="bob")

    page = opened(viewer, "resume")
    refused = viewer.post("/failures", fields)

    assert "Resume 3" not in page
    assert "Cancel 3" not in page
    assert 'id="confirm"' not in page
    assert refused.status_code == 403


def test_filters_and_emptiness(operator: Browser, failed: list[gd.WorkflowHandle[Any]]) -> None:
    assert "No failure matches" in operator.get("/failures?q=nothing").text
    assert "ConnectionError" in operator.get("/failures?q=connection&last=1h").text
    assert "is no known value and was left out" in operator.get("/failures?last=ages").text


def test_no_failures_is_good(operator: Browser) -> None:
    assert "No failures in the last 24 hours" in operator.get("/failures").text
