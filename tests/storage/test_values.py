"""What is stored comes back as it was: moments to the microsecond, texts to the last character."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import speedrun
from tests.storage.conftest import OpenDrive
from tests.storage.rows import Rows

TOKYO = timezone(timedelta(hours=9))
LONG = "ä😀x" * 70_000  # 490,000 bytes in UTF-8: MySQL's plain TEXT ends at 65,535
STRANGE = "emoji 😀, NUL \x00, lone surrogate \ud800, quote ' and % and \\"
SHOWN = "emoji 😀, NUL \N{SYMBOL FOR NULL}, lone surrogate ?, quote ' and % and \\"

# The session's zone, which must not matter.
IN_TOKYO = {
    "sqlite": {},
    "postgresql": {"options": "-c timezone=Asia/Tokyo"},
    "mysql": {"init_command": "SET time_zone = '+09:00'"},
}


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        datetime(2025, 1, 2, 3, 4, 5, 0, tzinfo=UTC),
        datetime(2025, 1, 2, 3, 4, 5, 1, tzinfo=UTC),
        datetime(2025, 3, 30, 1, 30, tzinfo=UTC),  # skipped by clocks in Amsterdam
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2199, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ],
    ids=str,
)
def test_a_moment_comes_back_to_the_microsecond(moment: datetime, rows: Rows) -> None:
    workflow_id = rows.workflow(started_at=moment)

    found = rows.read(rows.tables.workflows, workflow_id)["started_at"]

    assert found == moment
    assert found.tzinfo is UTC


def test_a_moment_of_another_zone_comes_back_in_utc(rows: Rows) -> None:
    workflow_id = rows.workflow(started_at=datetime(2025, 1, 2, 3, 0, tzinfo=TOKYO))

    found = rows.read(rows.tables.workflows, workflow_id)["started_at"]

    assert found.isoformat() == "2025-01-01T18:00:00+00:00"


def test_the_sessions_time_zone_does_not_matter(
    database: str, geneva: gd.Drive, rows: Rows, open_drive: OpenDrive
) -> None:
    moment = datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    workflow_id = rows.workflow(started_at=moment)
    in_tokyo = open_drive(geneva.engine.url.update_query_dict(IN_TOKYO[database]))
    their_rows = Rows.of(in_tokyo)

    theirs = their_rows.workflow(started_at=moment)

    assert their_rows.read(rows.tables.workflows, workflow_id)["started_at"] == moment
    assert rows.read(rows.tables.workflows, theirs)["started_at"] == moment


def test_a_worker_whose_session_is_in_another_time_zone_is_alive(
    database: str, geneva: gd.Drive, open_drive: OpenDrive
) -> None:
    in_tokyo = open_drive(geneva.engine.url.update_query_dict(IN_TOKYO[database]))
    store = in_tokyo.store

    store.write(
        lambda connection: store.workers.register(
            connection, "w1", name="w1", queues=None, signatures={}
        )
    )

    assert [worker.is_alive for worker in geneva.workers] == [True]
    assert [worker.is_alive for worker in in_tokyo.workers] == [True]


@pytest.mark.parametrize("column", ["context", "paused_reason", "requested_reason"])
def test_long_texts_of_a_workflow_come_back_whole(column: str, rows: Rows) -> None:
    workflow_id = rows.workflow(**{column: LONG})

    assert rows.read(rows.tables.workflows, workflow_id)[column] == LONG


@pytest.mark.parametrize(
    "column", ["result", "metadata", "failures", "error_message", "error_backtrace"]
)
def test_long_texts_of_an_execution_come_back_whole(column: str, rows: Rows) -> None:
    execution_id = rows.execution(rows.workflow(), **{column: LONG})

    assert rows.read(rows.tables.step_executions, execution_id)[column] == LONG


def test_a_long_context_result_and_error_survive_a_run(geneva: gd.Drive) -> None:
    class Long(gd.Workflow):
        @gd.step(keep_result=True)
        def keep(self) -> Any:
            return self.context["text"]

        @gd.step
        def fail(self) -> None:
            raise ValueError("x" * 100_000)

    workflow = speedrun(Long.create(context={"text": "y" * 100_000}))

    kept, failed = workflow.step_executions
    assert workflow.context == {"text": "y" * 100_000}
    assert kept.result == "y" * 100_000
    assert failed.error_message == "x" * 100_000


def test_strange_characters_in_context_and_result_come_back_as_they_were(
    geneva: gd.Drive,
) -> None:
    class Strange(gd.Workflow):
        @gd.step(keep_result=True)
        def keep(self) -> Any:
            return [self.context["text"]]

    workflow = speedrun(Strange.create(context={"text": STRANGE, STRANGE: 1}))

    assert workflow.context == {"text": STRANGE, STRANGE: 1}
    [kept] = workflow.step_executions
    assert kept.result == [STRANGE]


def test_strange_characters_in_an_error_are_made_visible(geneva: gd.Drive) -> None:
    class Strange(gd.Workflow):
        @gd.step
        def fail(self) -> None:
            raise ValueError(STRANGE)

    workflow = speedrun(Strange.create())

    [failed] = workflow.step_executions
    assert workflow.state == "paused"
    assert failed.error_message == SHOWN
    assert failed.error_backtrace is not None
    assert SHOWN in failed.error_backtrace


def test_strange_characters_in_a_commands_reason_are_made_visible(geneva: gd.Drive) -> None:
    class Waiting(gd.Workflow):
        @gd.step(wait=60)
        def later(self) -> None: ...

    workflow = Waiting.create()

    workflow.pause(reason=STRANGE)

    [entry] = workflow.audit_entries
    assert (workflow.reload().paused_reason, entry.reason) == (SHOWN, SHOWN)


def test_a_hero_of_many_alphabets_is_found_again(geneva: gd.Drive) -> None:
    class Waiting(gd.Workflow):
        @gd.step(wait=60)
        def later(self) -> None: ...

    hero = gd.HeroRef("Benutzer", "Jürgen 😀 %_'\\")

    workflow = Waiting.create(hero)

    assert Waiting.for_hero(hero).ids() == [workflow.id]
    assert workflow.reload().hero_id == "Jürgen 😀 %_'\\"
