"""A loop does not go on while its body has something written and not committed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Integer, MetaData, Table, func, insert, select
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import speedrun

_METADATA = MetaData()
NOTES = Table("test_open_notes", _METADATA, Column("id", Integer, primary_key=True))

REFUSAL = (
    "Step 'rows' was to save its cursor while a session of its own had written something and not "
    "committed it: a crash would lose that, and the cursor would stand behind it. Commit before "
    "the loop goes on, or let the step's session do so with "
    "@gd.resumable_step(transaction=True)."
)


def _with_notes(geneva: gd.Drive) -> None:
    _METADATA.drop_all(geneva.engine)
    _METADATA.create_all(geneva.engine)


def _count(geneva: gd.Drive) -> int:
    with geneva.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(NOTES)) or 0


def _last(workflow: gd.WorkflowHandle[Any]) -> tuple[str | None, Any, int]:
    execution = speedrun(workflow).step_executions[-1]
    return execution.error_message, execution.cursor, execution.completed_iterations


def test_what_is_written_and_not_committed_keeps_the_cursor_where_it_was(
    geneva: gd.Drive,
) -> None:
    _with_notes(geneva)

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            with Session(geneva.engine) as session:
                for number in it.iterate_over(range(1, 5)):
                    session.execute(insert(NOTES).values(id=number))
                    if number < 3:
                        session.commit()

    assert _last(Import.create()) == (REFUSAL, 2, 2)
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
