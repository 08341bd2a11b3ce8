"""The database role of the workers, whose rights and limits a test can change."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from sqlalchemy import URL, Connection, Engine, create_engine, inspect, make_url, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

HERO_TABLE = "trouble_guests"
EXECUTIONS = "geneva_drive_step_executions"
_LIBRARY_PREFIX = "geneva_drive_"
_NAME = "geneva_worker"
_OTHERS = "geneva_others"
_RIGHTS = "SELECT, INSERT, UPDATE, DELETE"


class WorkerRole:
    """A role that may do what a worker needs, and nothing else.

    The tests' own connections, as an administrator, are not affected by what happens to it.
    """

    def __init__(self, admin_url: str) -> None:
        url = make_url(admin_url)
        self._admin = _engine(url)
        self._others = _engine(url.set(username=_OTHERS))
        self._is_postgresql = url.get_backend_name() == "postgresql"
        self.url = url.set(username=_NAME).render_as_string(hide_password=False)
        for name in (_NAME, _OTHERS):
            self._run(f"DROP USER IF EXISTS {name}", f"CREATE USER {name}")
        if self._is_postgresql:
            self._run(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {_NAME}")
        self.tables = inspect(self._admin).get_table_names()
        self.grant(self.tables)

    def library_tables(self) -> list[str]:
        return [name for name in self.tables if name.startswith(_LIBRARY_PREFIX)]

    def grant(self, tables: Sequence[str]) -> None:
        self._run(*(f"GRANT {_RIGHTS} ON {table} TO {_NAME}" for table in tables))

    def revoke(self, tables: Sequence[str]) -> None:
        self._run(*(f"REVOKE {_RIGHTS} ON {table} FROM {_NAME}" for table in tables))

    def limit_statements(self) -> None:
        """Let no statement of new connections take longer than 100 ms."""
        if self._is_postgresql:
            self._run(f"ALTER ROLE {_NAME} SET statement_timeout = '100ms'")
        else:
            self._run(f"ALTER USER {_NAME} WITH MAX_STATEMENT_TIME 0.1")

    @contextlib.contextmanager
    def locked(self, table: str) -> Iterator[None]:
        """Hold a table so that no other session can read or write it."""
        with self._admin.connect() as connection:
            if self._is_postgresql:
                connection.execute(text("BEGIN"))
                connection.execute(text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
            else:
                connection.execute(text(f"LOCK TABLES {table} WRITE"))
            yield
            connection.execute(text("ROLLBACK" if self._is_postgresql else "UNLOCK TABLES"))

    @contextlib.contextmanager
    def no_free_connections(self) -> Iterator[None]:
        """Let others have every connection that the server allows, and the workers none."""
        with self._admin.connect() as admin, contextlib.ExitStack() as taken:
            if not self._is_postgresql:
                before = admin.scalar(text("SELECT @@GLOBAL.max_connections"))
                admin.execute(text("SET GLOBAL max_connections = 30"))
                taken.callback(admin.execute, text(f"SET GLOBAL max_connections = {before}"))
            self._take_all(taken)
            while _kill_connections(admin, _NAME):
                self._take_all(taken)
            yield

    def _take_all(self, taken: contextlib.ExitStack) -> None:
        with contextlib.suppress(DBAPIError):
            while True:
                taken.enter_context(self._others.connect())

    def _run(self, *statements: str) -> None:
        with self._admin.connect() as connection:
            for statement in statements:
                connection.execute(text(statement))


def _engine(url: URL) -> Engine:
    return create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")


def _kill_connections(admin: Connection, name: str) -> int:
    """End every connection of a role; return how many there were."""
    if admin.dialect.name == "postgresql":
        kill = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = :name")
        return len(admin.execute(kill, {"name": name}).all())
    listed = text("SELECT id FROM information_schema.processlist WHERE user = :name")
    numbers = admin.scalars(listed, {"name": name}).all()
    for number in numbers:
        with contextlib.suppress(DBAPIError):  # it has gone by itself
            admin.execute(text(f"KILL {number}"))
    return len(numbers)
