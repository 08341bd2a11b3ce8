"""A loop does not go on while its body has something written and not committed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    MetaData,
    Table,
    create_engine,
    event,
    func,
    insert,
    select,
)
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.storage.dialects.sqlite import dialect
from geneva_drive.testing import speedrun
from tests.users_tables import make_empty

_METADATA = MetaData()
NOTES = Table("test_open_notes", _METADATA, Column("id", Integer, primary_key=True))

REFUSAL = (
    "Step 'rows' saves its cursor while a session of its own has uncommitted writes. A crash "
    "would lose them, and the step would resume after them. Commit before the loop continues, "
    "or use the step's session with @gd.resumable_step(transaction=True)."
)


@pytest.fixture
def own_engine(geneva: gd.Drive) -> Iterator[Engine]:
    """An engine of the application's own, on the same database."""
    engine = create_engine(geneva.engine.url)
    yield engine
    engine.dispose()


def _with_notes(geneva: gd.Drive) -> None:
    make_empty(geneva.engine, _METADATA)


def _count(geneva: gd.Drive) -> int:
    with geneva.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(NOTES)) or 0


def _last(workflow: gd.WorkflowHandle[Any]) -> tuple[str | None, Any, int]:
    execution = speedrun(workflow).step_executions[-1]
    return execution.error_message, execution.cursor, execution.completed_iterations


def _committing_two(engine: Engine, **options: Any) -> gd.WorkflowHandle[Any]:
    """Create a workflow that writes four notes, of which it commits the first two."""

    class Import(gd.Workflow):
        @gd.resumable_step(**options)
        def rows(self, it: gd.IterableStep) -> None:
            with Session(engine) as session:
                for number in it.iterate_over(range(1, 5)):
                    session.execute(insert(NOTES).values(id=number))
                    if number < 3:
                        session.commit()

    return Import.create()


def test_what_is_written_and_not_committed_keeps_the_cursor_where_it_was(
    geneva: gd.Drive,
) -> None:
    _with_notes(geneva)

    assert _last(_committing_two(geneva.engine)) == (REFUSAL, 2, 2)
    assert _count(geneva) == 2


def test_the_body_may_be_async(geneva: gd.Drive) -> None:
    _with_notes(geneva)

    class Import(gd.Workflow):
        @gd.resumable_step
        async def rows(self, it: gd.AsyncIterableStep) -> None:
            with Session(geneva.engine) as session:
                async for number in it.iterate_over(range(1, 5)):
                    session.execute(insert(NOTES).values(id=number))

    assert _last(Import.create()) == (REFUSAL, None, 0)
    assert _count(geneva) == 0


def test_a_session_of_another_engine_is_seen_as_well(geneva: gd.Drive, own_engine: Engine) -> None:
    _with_notes(geneva)

    assert _last(_committing_two(own_engine)) == (REFUSAL, 2, 2)
    assert _count(geneva) == 2


def test_it_is_seen_behind_each_item_however_seldom_the_cursor_is_saved(geneva: gd.Drive) -> None:
    _with_notes(geneva)

    assert _last(_committing_two(geneva.engine, checkpoint_every=100)) == (REFUSAL, 2, 2)
    assert _count(geneva) == 2


def test_it_is_seen_when_the_cursor_skips_what_follows(geneva: gd.Drive) -> None:
    _with_notes(geneva)

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            with Session(geneva.engine) as session:
                for number in it.iterate_over(range(1, 5)):
                    session.execute(insert(NOTES).values(id=number))
                    it.skip_to(3)

    assert _last(Import.create()) == (REFUSAL, None, 0)
    assert _count(geneva) == 0


def test_it_is_seen_when_a_loop_of_ones_own_skips_what_follows(geneva: gd.Drive) -> None:
    _with_notes(geneva)

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            with Session(geneva.engine) as session:
                session.execute(insert(NOTES).values(id=1))
                it.skip_to(3)

    assert _last(Import.create()) == (REFUSAL, None, 0)
    assert _count(geneva) == 0


def test_it_is_no_fault_of_an_item_that_could_be_skipped(geneva: gd.Drive) -> None:
    _with_notes(geneva)

    class Import(gd.Workflow):
        @gd.resumable_step(on_item_error="skip")
        def rows(self, it: gd.IterableStep) -> None:
            with Session(geneva.engine) as session:
                for number in it.iterate_over(range(1, 5)):
                    session.execute(insert(NOTES).values(id=number))
                session.commit()

    workflow = Import.create()

    assert _last(workflow) == (REFUSAL, None, 0)
    assert workflow.step_executions[0].skipped_items == []


@pytest.mark.databases("mysql")  # PostgreSQL has it switched off by default, and SQLite has none
def test_a_commit_in_two_phases_is_one(geneva: gd.Drive, own_engine: Engine) -> None:
    _with_notes(geneva)

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            with own_engine.connect() as connection:
                for number in it.iterate_over(range(1, 4)):
                    with connection.begin_twophase():
                        connection.execute(insert(NOTES).values(id=number))

    assert _last(Import.create()) == (None, None, 3)
    assert _count(geneva) == 3


@pytest.mark.databases("sqlite")
def test_a_lock_that_the_body_holds_past_sqlalchemy_leaves_the_cursor_where_it_was_saved(
    geneva: gd.Drive, geneva_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_notes(geneva)
    monkeypatch.setattr(dialect, "BUSY_TIMEOUT", timedelta(milliseconds=1))
    drive = gd.Drive(geneva_database_url)
    waits: list[str | None] = []
    event.listen(drive.engine, "handle_error", lambda met: waits.append(met.statement))

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            path = geneva.engine.url.database
            with closing(sqlite3.connect(path or "", isolation_level=None)) as past:
                for number in it.iterate_over(range(1, 5)):
                    if number == 3:
                        past.execute("BEGIN IMMEDIATE")
                        past.execute("INSERT INTO test_open_notes VALUES (3)")

    message, *place = _last(Import.using(drive).create())

    drive.close()
    assert place == [2, 2]
    assert (message or "").startswith(f"The database at {drive.database_url} was busy for too long")
    assert _count(geneva) == 0
    # Two checkpoints of five tries: with the real timeout, each may take a minute of a test.
    assert waits == ["BEGIN IMMEDIATE"] * 10


def test_a_connection_on_which_each_statement_commits_is_in_nobodys_way(
    geneva: gd.Drive, own_engine: Engine
) -> None:
    _with_notes(geneva)

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            level = {"isolation_level": "AUTOCOMMIT"}
            with own_engine.connect().execution_options(**level) as connection:
                for number in it.iterate_over(range(1, 4)):
                    connection.execute(insert(NOTES).values(id=number))

    assert _last(Import.create()) == (None, None, 3)
    assert _count(geneva) == 3


def test_a_session_that_only_reads_is_in_nobodys_way(geneva: gd.Drive) -> None:
    _with_notes(geneva)

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            with Session(geneva.engine) as session:
                for _ in it.iterate_over(range(3)):
                    session.scalars(select(NOTES.c.id)).all()

    assert _last(Import.create()) == (None, None, 3)


def test_what_was_rolled_back_is_in_nobodys_way(geneva: gd.Drive) -> None:
    _with_notes(geneva)

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            with Session(geneva.engine) as session:
                for number in it.iterate_over(range(1, 4)):
                    session.execute(insert(NOTES).values(id=number))
                    session.rollback()

    assert _last(Import.create()) == (None, None, 3)
    assert _count(geneva) == 0
