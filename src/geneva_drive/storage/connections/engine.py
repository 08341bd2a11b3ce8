"""The SQLAlchemy engine for a database URL."""

from __future__ import annotations

import re

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.engine import URL, Dialect
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import ConnectionPoolEntry, PoolResetState, QueuePool

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.storage import dialects
from geneva_drive.storage.connections import fork_safety

_DRIVERS = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
}
_PACKAGES = {"psycopg": "'geneva-drive[postgres]'", "pymysql": "'geneva-drive[mysql]'"}
_PASSWORD = re.compile(r"(://[^:/@]*:)[^@]*@")


class NotADatabaseURL(InvalidInput):
    def __init__(self, url: object) -> None:
        written = _PASSWORD.sub(r"\1***@", url) if isinstance(url, str) else url
        super().__init__(
            f"{shown(written)} is not a database URL. Write it as sqlite:///file.db, "
            f"postgresql://user:password@host/name or mysql://user:password@host/name."
        )


def make_engine(url: str | URL) -> Engine:
    parsed = parse_url(url)
    dialect = dialects.for_name(parsed.get_backend_name())
    try:
        refuse_async(parsed.get_dialect())
        # No limit on connections: otherwise the steps of a busy worker, each with a transaction,
        # could use all of them, and its heartbeat would get none.
        engine = create_engine(
            parsed.difference_update_query(dialect.url_options),
            poolclass=QueuePool,
            max_overflow=-1,
            pool_pre_ping=dialect.may_lose_connections,
            pool_reset_on_return=None,  # see _reset_without_a_log_line
            connect_args=dialect.connect_arguments(parsed),
        )
    except NoSuchModuleError as error:
        raise NotADatabaseURL(url) from error
    except InvalidInput:
        raise
    except ValueError as error:
        raise InvalidInput(
            f"The database URL has an option that cannot be read: {error}."
        ) from error
    except ModuleNotFoundError as error:
        package = _PACKAGES.get(error.name or "", error.name)
        raise InvalidInput(
            f"The driver {error.name!r} for this database is not installed. "
            f"Run: pip install {package}."
        ) from error
    _reset_without_a_log_line(engine)
    fork_safety.begin_anew_in_children(engine)
    dialect.prepare_own(engine, parsed)
    return engine


def refuse_async(dialect: Dialect | type[Dialect]) -> None:
    if dialect.is_async:
        raise InvalidInput(
            f"{dialect.driver!r} is an asynchronous driver, and GenevaDrive needs one that is not. "
            f"Write the URL as {dialect.name}://..., without a driver."
        )


def _reset_without_a_log_line(engine: Engine) -> None:
    """Roll a connection back when it returns to the pool, and discard it if that fails.

    SQLAlchemy does the same. But for each connection whose server is gone, it logs an error with a
    traceback, although the next call opens a new connection.
    """
    dialect = engine.dialect

    def reset(
        connection: DBAPIConnection, entry: ConnectionPoolEntry, state: PoolResetState
    ) -> None:
        if state.transaction_was_reset or state.terminate_only:
            return
        try:
            connection.rollback()
        except dialect.loaded_dbapi.Error as error:
            entry.invalidate(error)

    event.listen(engine, "reset", reset)


def parse_url(url: str | URL) -> URL:
    """Return the URL with the driver that this package uses for its database."""
    if not isinstance(url, URL) and checks.text_fault(url):
        raise NotADatabaseURL(url)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise NotADatabaseURL(url) from error
    return parsed.set(drivername=_DRIVERS.get(parsed.drivername, parsed.drivername))
