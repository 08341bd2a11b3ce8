"""`geneva doctor`, on every database."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import geneva_drive as gd
from geneva_drive.storage.schema.revisions import HEAD
from geneva_drive.testing import drain, expire_leases, speedrun
from tests.cli.conftest import Run
from tests.cli.screens import drawn, screen
from tests.servers import with_query

RETENTION = {
    "name": "retention",
    "finding": "reminder",
    "found": "It is off: ended workflows are kept forever.",
    "way_out": "Set GENEVA_RETENTION=90d, and workers delete ended workflows after 90 days.",
}


HEALTHY = {
    "sqlite": [
        ("indexes", "ok"),
        ("journal", "ok"),
        ("rights", "ok"),
        ("connections", "ok"),
        ("clock", "ok"),
    ],
    "postgresql": [
        ("indexes", "ok"),
        ("isolation", "ok"),
        ("durability", "ok"),
        ("old snapshots", "ok"),
        ("rights", "ok"),
        ("connections", "ok"),
        ("clock", "ok"),
    ],
    "mysql": [
        ("indexes", "ok"),
        ("isolation", "ok"),
        ("durability", "ok"),
        ("old snapshots", "ok"),
        ("rights", "ok"),
        ("connections", "ok"),
        ("clock", "ok"),
    ],
}


@pytest.fixture
def geneva_database_url(database: str, every_database_url: str) -> str:
    if database != "postgresql":
        return every_database_url
    # Other tests need not wait for the disk: see `tests.servers`.
    return with_query(every_database_url, options="-csynchronous_commit=on")


@pytest.fixture
def look(run: Run) -> Callable[[], dict[str, Any]]:
    """The checks by name; a name that comes twice keeps its last."""

    def examine() -> dict[str, Any]:
        checks = json.loads(run("doctor", "--json").stdout)["checks"]
        return {check["name"]: check for check in checks}

    return examine


Look = Callable[[], dict[str, Any]]


def test_a_fresh_installation_has_no_problem(database: str, geneva: gd.Drive, run: Run) -> None:
    result = run("doctor", "--json")

    report = json.loads(result.stdout)
    assert (result.exit_code, report["ok"]) == (0, True)
    findings = [(check["name"], check["finding"]) for check in report["checks"]]
    # What the server is set to, and what others left there, is no matter of the installation.
    others = ("autovacuum", "dead rows", "history")
    assert [each for each in findings if each[0] not in others] == [
        ("database", "ok"),
        ("tables", "ok"),
        *HEALTHY[database],
        ("workers", "reminder"),
        ("classes", "ok"),
        ("dead letters", "ok"),
        ("paused", "ok"),
        ("retention", "reminder"),
    ]


def test_the_way_out_stands_below_what_was_found(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    run("migrate", "--database", "sqlite:///shop.db")

    result = run("doctor", "--database", "sqlite:///shop.db")

    assert result.exit_code == 0
    assert screen(result) == drawn(f"""
        Check                   Found
        ────────────────────────────────────────────────────────────
        database      ok        sqlite:///shop.db answers.
        tables        ok        They are at revision {HEAD}, which
                                this version needs.
        indexes       ok        All are there.
        journal       ok        Its mode is 'wal'.
        rights        ok        The role may read and write every
                                table.
        connections   ok        The engine opens as many as are
                                needed.
        clock         ok        This process and the database show
                                the same time.
        workers       reminder  No worker is alive, and 0 workflows
                                are ongoing.
                                Start one: `geneva worker --app
                                package.module`.
        classes       ok        Workers serve every class with due
                                steps.
        dead letters  ok        No workflow is paused by a dead
                                letter.
        paused        ok        No workflow is paused.
        retention     reminder  It is off: ended workflows are kept
                                forever.
                                Set GENEVA_RETENTION=90d, and
                                workers delete ended workflows after
                                90 days.

        No problems found.
    """)


def test_due_work_without_a_worker_is_two_problems(geneva: gd.Drive, run: Run, look: Look) -> None:
    class Lonely(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    Lonely.create()

    result = run("doctor")

    assert result.exit_code == 6
    assert screen(result).splitlines()[-1] == "There are 2 problems."
    checks = look()
    assert checks["workers"] == {
        "name": "workers",
        "finding": "problem",
        "found": "No worker is alive, and 1 workflow is ongoing.",
        "way_out": "Start one: `geneva worker --app package.module`.",
    }
    assert checks["classes"] == {
        "name": "classes",
        "finding": "problem",
        "found": "No worker serves Lonely (1 due).",
        "way_out": "Start a worker whose --app imports them.",
    }


def test_a_living_worker_is_named_and_its_classes_are_served(geneva: gd.Drive, look: Look) -> None:
    seen = []

    class Served(gd.Workflow):
        @gd.step
        def only(self) -> None:
            Served.create()
            seen.append(look())

    speedrun(Served.create())

    [checks] = seen
    assert checks["workers"]["finding"] == "ok"
    assert checks["workers"]["found"].startswith("1 worker is alive: ")
    assert checks["classes"] == {
        "name": "classes",
        "finding": "ok",
        "found": "Workers serve every class with due steps.",
        "way_out": None,
    }


def test_due_work_on_a_queue_that_no_worker_serves_is_a_problem(
    geneva: gd.Drive, look: Look
) -> None:
    class Mail(gd.Workflow):
        @gd.step(queue="mial")
        def send(self) -> None: ...

    Mail.create()

    with geneva.worker(queues=["mail", "default"]):
        checks = look()

    assert "classes" not in checks
    assert checks["queues"] == {
        "name": "queues",
        "finding": "problem",
        "found": "No worker serves Mail on queue 'mial' (1 due).",
        "way_out": "Start a worker for them: `geneva worker --queues mial`.",
    }


def test_a_class_that_no_worker_knows_is_told_beside_a_queue_that_none_serves(
    geneva: gd.Drive, look: Look
) -> None:
    class Mail(gd.Workflow):
        @gd.step(queue="mial")
        def send(self) -> None: ...

    class Late(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    geneva.store.write(
        lambda connection: geneva.store.workers.register(
            connection, "box:7", name="box:7", queues=["default"], signatures={"Mail": "any"}
        )
    )
    Mail.create()
    Late.create()
    Late.create(queue="slow")

    checks = look()

    assert checks["classes"]["found"] == "No worker serves Late (2 due)."
    assert checks["queues"]["found"] == "No worker serves Mail on queue 'mial' (1 due)."


def test_a_silent_worker_is_a_problem(geneva: gd.Drive, look: Look) -> None:
    with geneva.worker() as worker:
        expire_leases(geneva)
        checks = look()

    assert checks["silent worker"] == {
        "name": "silent worker",
        "finding": "problem",
        "found": f"{worker.identity.name} has sent no heartbeat since 2000-01-01 00:00:00 UTC.",
        "way_out": "Check whether its process died or hangs. Another worker takes over its steps.",
    }


def test_a_worker_that_waits_for_the_database_is_a_problem(geneva: gd.Drive, look: Look) -> None:
    workers = geneva.store.workers
    geneva.store.write(
        lambda connection: workers.register(
            connection, "box:7", name="box:7", queues=None, signatures={}
        )
    )
    geneva.store.write(lambda connection: workers.beat(connection, "box:7", "The disk is full."))

    checks = look()

    assert (checks["trouble"]["finding"], checks["trouble"]["found"]) == (
        "problem",
        "box:7 waits for the database. The disk is full.",
    )


def test_a_workflow_out_of_reattempts_is_a_problem_until_it_goes_on(
    geneva: gd.Drive, look: Look
) -> None:
    class Failing(gd.Workflow):
        @gd.step(on_exception="reattempt", max_reattempts=1)
        def only(self) -> None:
            raise TimeoutError

    workflow = speedrun(Failing.create())

    held = look()
    workflow.cancel()
    let_go = look()

    assert held["dead letters"] == {
        "name": "dead letters",
        "finding": "problem",
        "found": f"1 workflow is paused by a dead letter: {workflow.id}.",
        "way_out": "`geneva dlq list` shows the causes. Fix them, then `geneva dlq retry`, skip or "
        "cancel.",
    }
    assert held["paused"] == {
        "name": "paused",
        "finding": "reminder",
        "found": "1 workflow is paused.",
        "way_out": "`geneva list --state paused` lists them, `geneva why ID` shows the reason.",
    }
    assert let_go["dead letters"]["found"] == "No workflow is paused by a dead letter."


def test_a_workflow_is_out_of_reattempts_only_where_it_stands(geneva: gd.Drive, look: Look) -> None:
    class Failing(gd.Workflow):
        @gd.step(on_exception="reattempt", max_reattempts=1)
        def first(self) -> None:
            raise TimeoutError

        @gd.step
        def second(self) -> None:
            self.pause()

        @gd.step(on_exception="reattempt", max_reattempts=1)
        def third(self) -> None:
            raise TimeoutError

    workflow = speedrun(Failing.create())
    workflow.skip()
    speedrun(workflow)
    paused = look()
    workflow.resume_at("third")
    speedrun(workflow)
    held = look()

    assert paused["dead letters"]["found"] == "No workflow is paused by a dead letter."
    assert held["dead letters"]["found"] == f"1 workflow is paused by a dead letter: {workflow.id}."


def test_a_mistyped_variable_is_a_reminder(
    geneva: gd.Drive, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GENEVA_LEESE", "5s")
    monkeypatch.setenv("GENEVA_CITY", "of no concern")

    assert look()["environment"] == {
        "name": "environment",
        "finding": "reminder",
        "found": "GENEVA_LEESE is set, but no setting has this name.",
        "way_out": "Did you mean GENEVA_LEASE?",
    }


def test_a_retention_that_is_set_is_told(
    geneva_database_url: str, geneva: gd.Drive, look: Look
) -> None:
    gd.configure(geneva_database_url, retention="90d")

    assert look()["retention"] == {
        "name": "retention",
        "finding": "ok",
        "found": "Workflows are deleted 90d after they end.",
        "way_out": None,
    }


def test_retention_that_is_off_is_a_reminder(geneva: gd.Drive, look: Look) -> None:
    assert look()["retention"] == RETENTION


def test_a_database_without_tables_is_the_problem(empty_database_url: str, run: Run) -> None:
    result = run("doctor", "--json", "--database", empty_database_url)

    url = gd.current_drive().database_url
    assert result.exit_code == 6
    assert json.loads(result.stdout) == {
        "ok": False,
        "checks": [
            {"name": "database", "finding": "ok", "found": f"{url} answers.", "way_out": None},
            {
                "name": "tables",
                "finding": "problem",
                "found": f"The database at {url} has no GenevaDrive tables yet, or older ones. "
                f"Run `geneva migrate` with the same --app or --database, or call drive.migrate().",
                "way_out": None,
            },
        ],
    }


def test_a_single_problem_is_counted_as_one(empty_database_url: str, run: Run) -> None:
    result = run("doctor", "--database", empty_database_url)

    assert screen(result).splitlines()[-1] == "There is 1 problem."


def test_a_database_newer_than_this_version_is_the_problem(
    empty_database_url: str, run: Run
) -> None:
    run("migrate", "--database", empty_database_url)
    with gd.current_drive().engine.begin() as connection:
        connection.execute(text("UPDATE geneva_drive_schema_version SET version_num = '9999'"))

    result = run("doctor", "--json", "--database", empty_database_url)

    url = gd.current_drive().database_url
    assert result.exit_code == 6
    assert json.loads(result.stdout)["checks"][1]["found"] == (
        f"The database at {url} was migrated by a newer GenevaDrive (revision '9999'). "
        f"Upgrade this process's geneva-drive before it touches the data."
    )


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://nobody@127.0.0.1:1/nothing",
        "mysql://nobody@127.0.0.1:1/nothing",
    ],
    ids=["postgresql", "mysql"],
)
def test_a_database_that_does_not_answer_is_the_problem(run: Run, url: str) -> None:
    result = run("doctor", "--json", "--database", url)

    [check] = json.loads(result.stdout)["checks"]
    assert result.exit_code == 6
    assert (check["name"], check["finding"]) == ("database", "problem")
    assert check["found"].startswith("The database at ")
    assert check["found"].endswith(
        " and its address: --database, the app's own, or GENEVA_DATABASE_URL."
    )


def test_a_file_that_cannot_be_opened_is_the_problem(run: Run) -> None:
    result = run("doctor", "--json", "--database", "sqlite:////nowhere/at/all.db")

    [check] = json.loads(result.stdout)["checks"]
    assert (result.exit_code, check["name"], check["finding"]) == (6, "database", "problem")
    assert check["found"] == (
        "The database at sqlite:////nowhere/at/all.db cannot be opened: there is no folder "
        "'/nowhere/at'. Create it, or correct the URL: --database, GENEVA_DATABASE_URL, or your "
        "app's own."
    )


@pytest.mark.databases("postgresql")
def test_what_makes_the_database_slow_or_forgetful_is_a_problem_too(
    geneva: gd.Drive, geneva_database_url: str, run: Run
) -> None:
    gd.configure(with_query(geneva_database_url, options="-csynchronous_commit=off"))

    result = run("doctor", "--json")

    [check] = [c for c in json.loads(result.stdout)["checks"] if c["finding"] == "problem"]
    assert result.exit_code == 6
    assert (check["name"], check["found"]) == (
        "durability",
        "synchronous_commit is 'off': the last commits may be lost if the server crashes.",
    )


def test_an_event_whose_class_no_worker_has_is_named(geneva: gd.Drive, look: Look) -> None:
    class Invoice(gd.Workflow[Any]):
        type_name = "test_doctor.Invoice"
        triggers = ("order.created",)

    geneva.publish("order.created")

    assert look()["triggers"] == {
        "name": "triggers",
        "finding": "problem",
        "found": "Events should start test_doctor.Invoice, but no worker has them; "
        "1 start is waiting.",
        "way_out": "Start a worker whose --app imports them before the events expire.",
    }
    drain(geneva)
    with geneva.worker():
        assert "triggers" not in look()
    assert Invoice.finished().count() == 1
