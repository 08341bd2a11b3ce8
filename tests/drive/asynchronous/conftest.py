"""Sessions of an application whose driver is async, on the database of the test's Drive."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from sqlalchemy import event, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

import geneva_drive as gd
from tests.databases import wanted
from tests.servers import KINDS, from_environment

T = TypeVar("T")
InSession = Callable[[Callable[[AsyncSession], Awaitable[T]]], T]
WithEngine = Callable[[Callable[[AsyncEngine], Awaitable[T]]], T]

DATABASES = {"aiosqlite": "sqlite", "asyncpg": "postgresql", "psycopg": "postgresql"}


@pytest.fixture(
    scope="session", params=[name for name, database in DATABASES.items() if database in wanted()]
)
def driver(request: pytest.FixtureRequest) -> str:
    """The async driver of the application: "aiosqlite", "asyncpg" or "psycopg"."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def database(driver: str) -> str:
    name = DATABASES[driver]
    if name in KINDS and from_environment(KINDS[name]) is None:
        pytest.skip(f"No {KINDS[name].label} server.")
    return name


@pytest.fixture
def async_url(driver: str, geneva_database_url: str) -> str:
    url = make_url(geneva_database_url)
    url = url.set(drivername=f"{url.get_backend_name()}+{driver}")
    return url.render_as_string(hide_password=False)


@pytest.fixture
def with_engine(async_url: str) -> WithEngine[T]:
    """Run an async function with an engine of its own."""

    def run(work: Callable[[AsyncEngine], Awaitable[T]]) -> T:
        async def main() -> T:
            engine = create_async_engine(async_url)
            try:
                return await work(engine)
            finally:
                await engine.dispose()

        return asyncio.run(main())

    return run


@pytest.fixture
def in_session(with_engine: WithEngine[T]) -> InSession[T]:
    """Run an async function with a session of its own."""

    def run(work: Callable[[AsyncSession], Awaitable[T]]) -> T:
        async def main(engine: AsyncEngine) -> T:
            async with AsyncSession(engine) as session:
                return await work(session)

        return with_engine(main)

    return run


@pytest.fixture
def statements(geneva: gd.Drive) -> list[str]:
    """The statements that the Drive's own engine executes."""
    executed: list[str] = []
    event.listen(geneva.engine, "before_cursor_execute", lambda *given: executed.append(given[2]))
    return executed
