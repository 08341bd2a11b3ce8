"""A refusal is explained also to a transaction that cannot see what stands in its way."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

import geneva_drive as gd


# SQLite's writer sees everything that was committed before it began.
@pytest.mark.databases("postgresql", "mysql")
def test_a_repeatable_read_session_is_told_who_is_running(geneva: gd.Drive) -> None:
    engine = create_engine(geneva.engine.url, isolation_level="REPEATABLE READ")
    hero = gd.HeroRef("User", "7")

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    with Session(engine) as session:
        session.execute(text("SELECT 1 FROM geneva_drive_workflows"))
        first = Task.create(hero)
        with pytest.raises(gd.errors.AlreadyRunning) as caught:
            Task.create(hero, session=session)
    engine.dispose()

    assert caught.value.existing == first
