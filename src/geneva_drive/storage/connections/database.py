"""The database of a Drive: connections, transactions, retries and typed errors."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from geneva_drive.errors import DatabaseUnavailable, StorageError
from geneva_drive.internal_backoff import InternalBackoff
from geneva_drive.settings import Settings
from geneva_drive.storage import dialects
from geneva_drive.storage.connections import engine, typed_errors
from geneva_drive.storage.connections.database_wait import AnswerLost, Patience, Wait
from geneva_drive.storage.connections.kept_connections import KeptConnections, KeptDriver
from geneva_drive.storage.connections.trouble_log import TroubleLog
from geneva_drive.storage.connections.typed_errors import in_a_sentence, typed_error
from geneva_drive.storage.dialects import driver
from geneva_drive.storage.dialects.connection_options import STRAIGHT_OPTION, WRITES_OPTION
from geneva_drive.storage.dialects.driver_errors import trouble_of
from geneva_drive.storage.dialects.hints import Hints
from geneva_drive.storage.dialects.trouble import Trouble

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_TRIES = 5
_RETRY_DELAY = InternalBackoff(timedelta(milliseconds=20))
_KEPT = 2  # one for claims, one for commits; further threads open their own
_PATIENCE = timedelta(seconds=30)  # no further try after this: each may wait long for a lock
_RETRIED = frozenset({Trouble.UNAVAILABLE, Trouble.BUSY})


@dataclass(frozen=True, slots=True)
class Joined:
    """A transaction that our statements join, and the callbacks for after its commit."""

    connection: Connection
    to_tell: list[Callable[[], None]] = field(default_factory=list)


class Database:
    """An engine, its dialect, and the transactions of one Drive."""

    def __init__(self, url_or_engine: str | URL | Engine, settings: Settings) -> None:
        self.owns_engine = not isinstance(url_or_engine, Engine)
        self.engine = (
            url_or_engine
            if isinstance(url_or_engine, Engine)
            else engine.make_engine(url_or_engine)
        )
        engine.refuse_async(self.engine.dialect)
        self.dialect = dialects.for_name(self.engine.dialect.name)
        self.dialect.prepare(self.engine, settings)
        # A user's own pool may have only one connection, so none of it is kept open.
        self._kept = KeptConnections(
            self._open_kept, _KEPT if self.owns_engine else 0, self.dialect.forget_plans
        )
        self._kept_writing = KeptConnections(
            self._open_writing, 1 if self.owns_engine else 0, self.dialect.forget_plans
        )
        self.driver = KeptDriver(self._open_autocommitting, keeps=self.owns_engine)
        # The transaction of a step's body or of a caller's session on this thread.
        self._joined: ContextVar[Joined | None] = ContextVar("geneva_joined", default=None)
        # How long the calls of a step wait for the database; set while a worker runs the step.
        self._patience: ContextVar[Patience | None] = ContextVar("geneva_patience", default=None)
        self._prefix = settings.table_prefix
        self.trouble_log = TroubleLog()

    def hints(self, channel: str) -> Hints:
        """Return the hints by which processes notify each other that something may be due."""
        saving = self.driver if self.owns_engine else None
        # A hint is not worth waiting for.
        write = partial(self.write_at_once, waits=False)
        return self.dialect.hints(self.engine, channel, write, saving)

    @property
    def is_absent(self) -> bool:
        """True if connecting would create a new database; its name may be misspelled."""
        return self.dialect.is_absent(self.engine)

    @property
    def url(self) -> str:
        return self.engine.url.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection for reading: that of the joined transaction, if there is one."""
        joined = self._joined.get()
        if joined is not None:
            yield joined.connection
            return
        with self.translating(), self.engine.connect() as connection:
            yield connection

    def read(self, look: Callable[[Connection], T]) -> T:
        """Call `look` with a connection, and retry while the database is in trouble."""

        def once() -> T:
            with self.reading() as connection:
                return look(connection)

        return self.patiently(once)

    def read_at_once(self, look: Callable[[Connection], T]) -> T:
        """Read on a kept connection if that saves round trips.

        Several statements may then see different states of the tables. Errors are not retried:
        the callers read again anyway.
        """
        if self._joined.get() is not None or not self.dialect.is_at_once:
            with self.reading() as connection:
                return look(connection)
        with self.translating(), self._short_transaction() as connection:
            return look(connection)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open a writing transaction, which commits at the end of the block."""
        with self.dialect.writing(), self.engine.connect() as connection:
            connection.execution_options(**{WRITES_OPTION: True})
            with connection.begin():
                yield connection

    @contextmanager
    def joining(self, connection: Connection) -> Iterator[Joined]:
        """Make all writes of this thread join the transaction of `connection`."""
        joined = Joined(connection)
        token = self._joined.set(joined)
        try:
            yield joined
        finally:
            self._joined.reset(token)

    @property
    def is_joined(self) -> bool:
        return self._joined.get() is not None

    def is_joined_to(self, connection: Connection) -> bool:
        joined = self._joined.get()
        return joined is not None and joined.connection is connection

    def after_commit(self, tell: Callable[[], None]) -> None:
        """Call `tell` now, or once the joined transaction is committed."""
        joined = self._joined.get()
        if joined is None:
            tell()
        else:
            joined.to_tell.append(tell)

    def write(self, work: Callable[[Connection], T], *, waits: bool = True) -> T:
        """Do `work` in one transaction, and retry after an error that may be transient.

        In a joined transaction, `work` gets a savepoint, so that an error leaves the transaction
        usable, and its owner commits. `waits=False` is for callers that do their own waiting for a
        database in trouble.
        """
        joined = self._joined.get()
        if joined is not None:
            with self.translating(), joined.connection.begin_nested():
                return work(joined.connection)
        return self._write_own(work, self.transaction, waits=waits)

    def write_at_once(self, work: Callable[[Connection], T], *, waits: bool = True) -> T:
        """Do hot work (claim, complete, start) on a kept connection.

        On databases where `work` is one statement, autocommit saves two round trips.
        """
        if self._joined.get() is not None:
            return self.write(work)
        at_once = self.dialect.is_at_once
        return self._write_own(work, self._short_transaction, at_once=at_once, waits=waits)

    def write_group(self, work: Callable[[Connection], T], *, waits: bool = True) -> T:
        """Do hot work of several statements in one transaction, on a kept connection."""
        if self._joined.get() is not None:
            return self.write(work)
        return self._write_own(work, self._kept_transaction, waits=waits)

    def being_patient(self, patience: Patience) -> AbstractContextManager[None]:
        """Make the calls of this thread wait for a database in trouble, while a step runs."""
        return _BeingPatient(self._patience, patience)

    @property
    def waited(self) -> float:
        """The seconds that the running step has waited for a database in trouble."""
        patience = self._patience.get()
        return 0.0 if patience is None else patience.waited

    def patiently(self, call: Callable[[], T]) -> T:
        """Call, and retry while the database is in trouble; for reads, which may be repeated.

        A joined transaction is not waited for here: it is lost, and its owner begins it again.
        """
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - raised again if it is not the database's
            return self._again(call, error)

    def _again(self, call: Callable[[], T], error: Exception) -> T:
        wait = self.wait()
        while True:
            trouble = self.passing(error)
            if trouble is None:
                raise error
            if self.is_joined:
                raise trouble from error
            if isinstance(trouble, AnswerLost) or not wait.may_try_again(trouble):
                wait.give_up(trouble)
                raise error
            try:
                answer = call()
            except Exception as again:  # noqa: BLE001 - raised above if it is not the database's
                error = again
            else:
                wait.is_over()
                return answer

    def wait(self, *, also_if_busy: bool = False) -> Wait:
        """Begin to wait for a database in trouble."""
        return Wait(self._patience.get(), self.trouble_log, also_if_busy=also_if_busy)

    @contextmanager
    def _kept_transaction(self) -> Iterator[Connection]:
        with self.dialect.writing(), self._kept_writing.one() as connection, connection.begin():
            yield connection

    def _short_transaction(self) -> AbstractContextManager[Connection]:
        # Single statements autocommit.
        return self._kept.one() if self.dialect.is_at_once else self._begun()

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        with self.dialect.writing(), self._kept.one() as connection, connection.begin():
            yield connection

    def _open_autocommitting(self) -> Connection:
        return self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def _open_writing(self) -> Connection:
        return self.engine.connect().execution_options(**{WRITES_OPTION: True})

    def _open_kept(self) -> Connection:
        options: dict[str, Any] = {WRITES_OPTION: True}
        if self.dialect.is_at_once:
            options["isolation_level"] = "AUTOCOMMIT"
        if self.owns_engine and self.engine.dialect.driver in driver.DRIVERS:
            options[STRAIGHT_OPTION] = True
        return self.engine.connect().execution_options(**options)

    def _write_own(
        self,
        work: Callable[[Connection], T],
        transaction: Callable[[], AbstractContextManager[Connection]],
        *,
        at_once: bool = False,
        waits: bool = True,
    ) -> T:
        if waits and self._patience.get() is not None:
            return self.patiently(
                lambda: self._write_own(work, transaction, at_once=at_once, waits=False)
            )
        with self.translating():
            return self._write_with_retries(work, transaction, at_once=at_once)

    def _write_with_retries(
        self,
        work: Callable[[Connection], T],
        transaction: Callable[[], AbstractContextManager[Connection]],
        *,
        at_once: bool,
    ) -> T:
        give_up_at = time.monotonic() + _PATIENCE.total_seconds()
        for attempt in range(1, _MAX_TRIES + 1):
            committing = False
            try:
                with transaction() as connection:
                    committing = at_once
                    result = work(connection)
                    committing = True
            except DBAPIError as error:
                trouble = trouble_of(error)
                # If the connection was lost during COMMIT, the work may have been committed: a
                # retry could do it twice.
                if (
                    committing
                    and trouble is Trouble.UNAVAILABLE
                    and not (at_once and self.dialect.was_refused(error))
                ):
                    raise AnswerLost(self.url, in_a_sentence(error)) from error
                is_last = attempt == _MAX_TRIES or time.monotonic() > give_up_at
                if is_last or trouble not in _RETRIED:
                    raise
                logger.debug("Transaction will be tried again (%s): %s", attempt, error.orig)
                time.sleep(_RETRY_DELAY.before(attempt))
            else:
                return result
        raise AssertionError("the last try returns or raises")

    def trouble_of(self, error: BaseException) -> Trouble | None:
        """Return the kind of a database error; None if it is another error."""
        trouble = trouble_of(error)
        if trouble is Trouble.NOT_MIGRATED and self._prefix not in str(error):
            return Trouble.OTHER  # a table or a column of the user's own
        return trouble

    def passing(self, error: BaseException) -> StorageError | None:
        """Return the typed error for a database in trouble; None for other errors."""
        if isinstance(error, typed_errors.PASSING):
            return error
        return self.translated(error)

    def translating(self) -> AbstractContextManager[None]:
        """Replace each driver error that a person can act on by a StorageError."""
        return _Translating(self)

    def translated(self, error: BaseException) -> StorageError | None:
        return typed_error(self.trouble_of(error), error, self.url)

    def lost_connection(self, error: BaseException) -> StorageError:
        """Return the typed error for a transaction whose connection was lost."""
        return self.passing(error) or DatabaseUnavailable(self.url, in_a_sentence(error))

    def close(self) -> None:
        self._kept.close()
        self._kept_writing.close()
        self.driver.close()
        if self.owns_engine:
            self.engine.dispose()


class _Translating:
    """A class, because each step enters it: `contextlib.contextmanager` is several times slower."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        if error is not None and (translated := self._database.translated(error)) is not None:
            raise translated from error


class _BeingPatient:
    """A class, for the same reason as `_Translating`."""

    __slots__ = ("_given", "_token", "_variable")

    def __init__(self, variable: ContextVar[Patience | None], given: Patience) -> None:
        self._variable = variable
        self._given = given

    def __enter__(self) -> None:
        self._token = self._variable.set(self._given)

    def __exit__(self, *_: object) -> None:
        self._variable.reset(self._token)
