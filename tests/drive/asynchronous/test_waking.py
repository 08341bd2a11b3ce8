"""Workers hear at once of what an async application commits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

import geneva_drive as gd
from geneva_drive.storage.dialects.postgresql import notices
from tests.drive.asynchronous.conftest import WithEngine
from tests.worker.watching import Watch


class Task(gd.Workflow[Any]):
    type_name = "asynchronous.test_waking.Task"

    @gd.step
    def work(self) -> None: ...


@pytest.fixture
def resting(
    geneva: gd.Drive, geneva_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[gd.Drive]:
    """A Drive, as of another process, whose workers rest until they are woken."""
    monkeypatch.setattr("geneva_drive.worker.poller._FIRST_REST", 600.0)
    monkeypatch.setattr(notices, "COALESCED", timedelta(0))
    drive = gd.Drive(geneva_database_url, poll_interval="10m", lease="1h", heartbeat_interval="10m")
    yield drive
    drive.close()


def test_a_worker_runs_at_once_what_an_async_session_commits(
    geneva: gd.Drive, resting: gd.Drive, with_engine: WithEngine[None]
) -> None:
    watch = Watch(resting)

    async def create_one_by_one(engine: AsyncEngine) -> None:
        for number in range(1, 4):
            async with AsyncSession(engine) as session:
                await Task.acreate(session=session)
                await session.commit()
            watch.wait_for_workflows(number)

    with resting.worker():
        with_engine(create_one_by_one)

    assert Task.finished().count() == 3


def test_a_worker_runs_at_once_what_an_async_connection_commits(
    geneva: gd.Drive, resting: gd.Drive, with_engine: WithEngine[None]
) -> None:
    watch = Watch(resting)

    async def create_one_by_one(engine: AsyncEngine) -> None:
        for number in range(1, 4):
            async with engine.begin() as connection:
                await Task.acreate(session=connection)
            watch.wait_for_workflows(number)

    with resting.worker():
        with_engine(create_one_by_one)

    assert Task.finished().count() == 3
