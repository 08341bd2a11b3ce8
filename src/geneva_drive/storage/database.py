"""The user's database: connections, transactions, and errors that say what to do."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from sqlalchemy import Connection, Engine, create_engine, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from geneva_drive.errors import (
    DatabaseBusy,
    DatabaseReadOnly,
    DatabaseUnavailable,
    InvalidInput,
    StorageError,
)
from geneva_drive.settings import Settings
from geneva_drive.storage import dialects
from geneva_drive.storage.dialects.sqlite import READ_ONLY_OPTION

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_TRIES = 5
_DRIVERS = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
}
_EXTRAS = {"psycopg": "postgres", "pymysql": "mysql"}


class Database:
    """An engine with the dialect's ways, and the transactions of one Drive."""

    def __init__(self, url_or_engine: str | URL | Engine, settings: Settings) -> None:
        self.owns_engine = not isinstance(url_or_engine, Engine)
        self.engine = (
            url_or_engine if isinstance(url_or_engine, Engine) else _make_engine(url_or_engine)
        )
        self.dialect = dialects.for_name(self.engine.dialect.name)
        self.dialect.prepare(self.engine, settings)
        # The transaction that a step's body or a caller's session has open on this thread.
        self._joined: ContextVar[Connection | None] = ContextVar("geneva_joined", default=None)

    @property
    def url(self) -> str:
        return self.engine.url.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Look without locks; inside a joined transaction, with its eyes."""
        joined = self._joined.get()
        if joined is not None:
            yield joined
            return
        with self.translating(), self.engine.connect() as connection:
            yield connection.execution_options(**{READ_ONLY_OPTION: True})

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open a writing transaction of our own; it commits at the end of the block."""
        with self.dialect.writing(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def joining(self, connection: Connection) -> Iterator[Connection]:
        """Let everything that writes on this thread do so within `connection`'s transaction."""
        token = self._joined.set(connection)
        try:
            yield connection
        finally:
            self._joined.reset(token)

    @property
    def is_joined(self) -> bool:
        return self._joined.get() is not None

    def write(self, work: Callable[[Connection], T]) -> T:
        """Do `work` in one transaction, again if the database says that this may help.

        Inside a joined transaction it is done there, under a savepoint, so that a refusal leaves
        that transaction usable; committing is then its owner's business.
        """
        joined = self._joined.get()
        if joined is not None:
            with self.translating(), joined.begin_nested():
                return work(joined)
        with self.translating():
            return self._write_own(work)

    def _write_own(self, work: Callable[[Connection], T]) -> T:
        for attempt in range(1, _MAX_TRIES + 1):
            committing = False
            try:
                with self.transaction() as connection:
                    result = work(connection)
                    committing = True
            except DBAPIError as error:
                # A connection lost during COMMIT leaves open whether it happened: doing the work
                # again could do it twice.
                lost_in_commit = committing and error.connection_invalidated
                if attempt == _MAX_TRIES or lost_in_commit or not self.is_transient(error):
                    raise
                logger.debug("Transaction will be tried again (%s): %s", attempt, error.orig)
                time.sleep(0.01 * 2**attempt)
            else:
                return result
        raise AssertionError("the last try returns or raises")

    def is_transient(self, error: DBAPIError) -> bool:
        return self.dialect.is_transient(error)

    @contextmanager
    def translating(self) -> Iterator[None]:
        """Turn the driver's complaints that a person can do something about into ours."""
        try:
            yield
        except TimeoutError as error:
            raise DatabaseBusy(self.url, f"{error}.") from error
        except DBAPIError as error:
            translated = self._translated(error)
            if translated is None:
                raise
            raise translated from error

    def _translated(self, error: DBAPIError) -> StorageError | None:
        if self.dialect.is_read_only(error):
            return DatabaseReadOnly(self.url)
        if self.dialect.is_busy(error):
            return DatabaseBusy(self.url, _one_line(error))
        if self.dialect.is_unreachable(error):
            return DatabaseUnavailable(self.url, _one_line(error))
        return None

    def close(self) -> None:
        if self.owns_engine:
            self.engine.dispose()


def _make_engine(url: str | URL) -> Engine:
    try:
        parsed = make_url(url)
        driver = _DRIVERS.get(parsed.drivername)
        if driver:
            parsed = parsed.set(drivername=driver)
        return create_engine(parsed, pool_pre_ping=parsed.get_backend_name() != "sqlite")
    except (ArgumentError, NoSuchModuleError) as error:
        raise InvalidInput(
            f"{str(url)!r} is not a database URL. Write it as sqlite:///file.db, "
            f"postgresql://user:password@host/name or mysql://user:password@host/name."
        ) from error
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(error.name or "", "all")
        raise InvalidInput(
            f"The driver {error.name!r} for this database is not installed. "
            f"Run: pip install 'geneva-drive[{extra}]'."
        ) from error


def _one_line(error: DBAPIError) -> str:
    text = " ".join(str(error.orig).split())
    return text if text.endswith(".") else f"{text}."
