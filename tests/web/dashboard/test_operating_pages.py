"""Workers, schedules and audit: what they say, and the commands of schedules."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import geneva_drive as gd
from tests.declarative.documents import allow, written
from tests.web.dashboard.reading import address_of, rows_of, words_of
from tests.web.dashboard.signing_in import Browser, signed_in

HOSTILE = "<script>alert(1)</script>"


class DashboardCleanup(gd.Workflow):
    """Clean up at night."""

    schedule = gd.cron("0 3 * * *")

    @gd.step
    def clean(self) -> None: ...


class DashboardOrder(gd.Workflow):
    @gd.step
    def charge(self) -> None: ...


@pytest.fixture
def operator(app: FastAPI, sqlite_drive: gd.Drive) -> Browser:
    return signed_in(app, sqlite_drive, "operator", name="Ingrid Dahl")


@pytest.fixture
def viewer(app: FastAPI, sqlite_drive: gd.Drive) -> Browser:
    return signed_in(app, sqlite_drive, "viewer", name="Ove Lund")


def register(drive: gd.Drive, name: str, *types: str) -> None:
    store = drive.store
    known = dict.fromkeys(types, "0" * 8)
    add = partial(store.workers.register, queues=None, signatures=known, lease=timedelta(minutes=5))
    store.write(lambda connection: add(connection, worker_id=name, name=name))


def test_workers_says_who_is_heard_and_what_nobody_serves(
    viewer: Browser, sqlite_drive: gd.Drive
) -> None:
    register(sqlite_drive, f"eu-1 {HOSTILE}", "Another")
    DashboardOrder.using(sqlite_drive).create()

    page = viewer.get("/workers").text
    words = words_of(page)

    assert "1 worker is heard. 1 execution is due and served by no worker." in words
    assert "Served by no worker" in words
    assert "DashboardOrder default 1" in words
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page


def test_workers_without_any_names_the_command(viewer: Browser) -> None:
    words = words_of(viewer.get("/workers").text)

    assert "No worker runs." in words
    assert "Start one with geneva worker" in words


def test_audit_is_newest_first_and_finds_by_actor_and_command(
    viewer: Browser, sqlite_drive: gd.Drive
) -> None:
    assert "Nothing was done by hand yet" in viewer.get("/audit").text
    handle = DashboardOrder.using(sqlite_drive).create(hero=gd.HeroRef("Order", HOSTILE))
    handle.pause(reason=HOSTILE, actor="ann")
    handle.resume(actor="bob")

    page = viewer.get("/audit").text
    assert [row[2] for row in rows_of(page)] == ["resume", "pause"]
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    assert [row[1] for row in rows_of(viewer.get("/audit?actor=ann").text)] == ["ann"]
    assert [row[1] for row in rows_of(viewer.get("/audit?command=resume").text)] == ["bob"]
    assert "No entry matches" in viewer.get("/audit?actor=nobody").text
    assert "named no place" in viewer.get("/audit?older=x").text


def test_audit_links_documents_for_those_who_may_read_them(
    app: FastAPI, viewer: Browser, sqlite_drive: gd.Drive
) -> None:
    sqlite_drive.definitions.deploy(written(allow()), actor="ci")
    key = sqlite_drive.keys.create("auditor", permissions=["audit:read", "execution:read"])
    as_auditor = {"Authorization": f"Bearer {key.secret}"}

    seen = viewer.get("/audit").text
    by_auditor = TestClient(app).get("/audit", headers=as_auditor).text

    assert [row[1:4] for row in rows_of(seen)] == [["ci", "deploy_definition", "order"]]
    assert 'href="/definitions/order"' in seen
    assert [row[1:4] for row in rows_of(by_auditor)] == [["ci", "deploy_definition", "order"]]
    assert "/definitions/order" not in by_auditor


def test_audit_pages_continue_below_a_key(
    viewer: Browser, sqlite_drive: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    from geneva_drive.drive.search import pages
    from geneva_drive.web.dashboard.pages import audit

    monkeypatch.setattr(audit, "PER_PAGE", 2)
    monkeypatch.setattr(pages, "_MOST_LOOKED_AT", 3)
    handle = DashboardOrder.using(sqlite_drive).create()
    for number in range(4):
        handle.pause(actor=f"p{number}")
        handle.resume(actor=f"r{number}")

    first = viewer.get("/audit").text
    assert [row[1] for row in rows_of(first)] == ["r3", "p3"]
    second = viewer.get(address_of(first, "next")).text
    assert [row[1] for row in rows_of(second)] == ["r2", "p2"]
    back = viewer.get(address_of(second, "prev")).text
    assert [row[1] for row in rows_of(back)] == ["r3", "p3"]
    assert 'rel="prev"' not in first + back
    # Only so many entries are looked at; the rest is one click away.
    short = viewer.get("/audit?actor=p0").text
    assert "Older ones may." in short
    older = short.partition("Look at older ones")[0].rpartition('href="')[2].partition('"')[0]
    assert "None among these" in viewer.get(older.replace("&amp;", "&")).text


def test_schedules_says_what_runs_next(viewer: Browser) -> None:
    words = words_of(viewer.get("/schedules").text)

    assert "runs next" in words
    page = words_of(viewer.get("/schedules/DashboardCleanup").text)
    assert "It has not run yet." in page
    assert "0 3 * * *" in page
    assert "What you can do" not in page
    assert viewer.get("/schedules/Nothing").status_code == 404


def test_a_schedule_is_paused_resumed_and_run(operator: Browser, sqlite_drive: gd.Drive) -> None:
    path = "/schedules/DashboardCleanup"
    question = words_of(operator.get(f"{path}?confirm=pause").text)
    assert "Ongoing workflows continue." in question

    paused = operator.post(f"{path}/pause", {"reason": "Strike"})
    assert paused.headers["location"] == f"{path}#answer"
    assert sqlite_drive.schedules.get("DashboardCleanup").paused_by == "Ingrid Dahl"
    page = words_of(operator.get(path).text)
    assert "Paused by Ingrid Dahl since" in page
    assert "“Strike”" in page
    assert "“Strike”" in operator.get("/schedules").text
    assert "No run of DashboardCleanup starts" in page
    assert "no longer applies" in operator.get(f"{path}?confirm=pause").text

    operator.post(f"{path}/resume")
    assert not sqlite_drive.schedules.get("DashboardCleanup").is_paused

    operator.post(f"{path}/run")
    assert "runs as soon as a worker is free" in words_of(operator.get(path).text)
    operator.post(f"{path}/run")
    page = words_of(operator.get(path).text)
    assert "No workflow was started." in page
    assert "By hand, by Ingrid Dahl. Workflow" in page
    assert "was ongoing." in page
    assert "Of its last 2 runs, 1 was skipped." in page
    states = [run.state for run in sqlite_drive.schedules.runs("DashboardCleanup")]
    assert sorted(states) == ["skipped", "started"]
    rows = rows_of(operator.get("/audit").text)
    assert [row[1:3] for row in rows] == [
        ["Ingrid Dahl", "run_schedule"],
        ["Ingrid Dahl", "run_schedule"],
        ["Ingrid Dahl", "resume_schedule"],
        ["Ingrid Dahl", "pause_schedule"],
    ]
    assert [row[3] for row in rows[2:]] == ["DashboardCleanup"] * 2
    assert rows[3][5] == "Strike"


@pytest.mark.parametrize("name", ["pause", "resume", "run"])
def test_a_viewer_may_not_touch_a_schedule(
    viewer: Browser, sqlite_drive: gd.Drive, name: str
) -> None:
    answer = viewer.post(f"/schedules/DashboardCleanup/{name}")

    assert answer.status_code == 403
    assert "schedule:manage" in answer.text
    assert sqlite_drive.schedules.runs("DashboardCleanup") == []
