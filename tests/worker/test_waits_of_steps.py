"""What a wait for the database costs a step: neither its timeout nor a row too many."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, event

import geneva_drive as gd
from tests.engines import trace
from tests.heroes import User, save
from tests.worker.conftest import MakeDrive
from tests.worker.faults import lose_answer
from tests.worker.watching import rows_of


def test_the_time_for_which_a_step_waits_is_no_part_of_its_timeout(
    geneva: gd.Drive, make_drive: MakeDrive, users: None
) -> None:
    drive = make_drive()
    driver: Any = drive.engine.dialect.dbapi
    gone = {
        "sqlite": driver.OperationalError("unable to open database file"),
        "postgresql": driver.OperationalError("connection refused"),
        "mysql": driver.OperationalError(2003, "Can't connect to server"),
    }[drive.engine.dialect.name]
    refused: list[str] = []

    @event.listens_for(drive.engine, "before_cursor_execute")
    def refuse(_: Any, __: Any, statement: str, *___: Any) -> None:
        # Five tries: rests of 0.05 to 0.8 seconds, altogether more than the timeout.
        if "test_users" in statement and len(refused) < 5:
            refused.append(statement)
            raise gone

    trace(drive.engine)

    class Signup(gd.Workflow[User]):
        may_proceed_without_hero = True

        @gd.step(timeout=0.7)
        def work(self) -> None:
            assert self.hero.name == "Ada"

    signup = Signup.create(hero=save(geneva, User(name="Ada")))
    drive.worker(concurrency=1).run_until_idle()

    assert len(refused) == 5
    assert rows_of(signup) == [("work", "completed", "success")]


def test_a_skipped_item_whose_checkpoint_was_not_answered_is_recorded_once(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive()
    struck: list[bool] = []

    @event.listens_for(drive.engine, "before_cursor_execute")
    def look(connection: Connection, _: Any, statement: str, *__: Any) -> None:
        if "INSERT INTO geneva_drive_checkpoints" in statement:
            connection.info["records"] = True

    @event.listens_for(drive.engine, "commit")
    def strike(connection: Connection) -> None:
        if connection.info.pop("records", False) and not struck:
            struck.append(True)
            driver: Any = connection.connection.dbapi_connection
            is_sqlite = connection.dialect.name == "sqlite"
            lose_answer(
                connection,
                lambda: driver.execute("COMMIT").close() if is_sqlite else driver.commit(),
            )

    trace(drive.engine)

    class Import(gd.Workflow):
        @gd.resumable_step(on_item_error="skip")
        def rows(self, it: gd.IterableStep) -> None:
            for letter in it.iterate_over("abc"):
                if letter == "b":
                    raise ValueError("no b")

    workflow = Import.create()
    drive.worker().run_until_idle()

    assert struck == [True]
    assert rows_of(workflow) == [("rows", "completed", "success")]
    [execution] = workflow.reload().step_executions
    assert [one.item for one in execution.skipped_items] == ["'b'"]
