"""The transaction of a loop with `transaction=True`: items and cursor commit together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Self

from sqlalchemy import Connection
from sqlalchemy.orm import Session, SessionTransaction

from geneva_drive.engine import crash_points, transaction_mark
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.loops import record_queries
from geneva_drive.engine.loops.step_loop import StepLoop
from geneva_drive.engine.step_session import StepSession
from geneva_drive.iteration.loop_backend import Query
from geneva_drive.iteration.loop_state import LoopState
from geneva_drive.states import Interruption
from geneva_drive.storage.dialects.connection_options import WRITES_OPTION


class LoopTransaction:
    """The session of such a loop, and its backend instead of the `StepLoop`.

    Each checkpoint commits, and the next item begins a new transaction. A transaction that is open
    at the end is rolled back.
    """

    commits_items = True

    def __init__(self, environment: Environment, loop: StepLoop) -> None:
        self._store = environment.store
        self._database = environment.store.database
        self._loop = loop
        self._held = ExitStack()  # the process's writer lock, and the joined connection
        self._is_open = False
        self._savepoint: SessionTransaction | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            # With expiry, each commit would cause the rest of the chunk to be read again.
            self.session = StepSession(self._database.engine, expire_on_commit=False)
            stack.callback(self.session.close)
            stack.callback(self._roll_back)
            self._begin()
            self._exit_stack = stack.pop_all()
        self._loop.run.backend = self
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run.backend = self._loop
        self._exit_stack.close()

    @property
    def connection(self) -> Connection:
        """The connection of the open transaction, with all writes flushed."""
        self._begin()
        if self._savepoint is not None:  # the body left its loop during an item
            self._savepoint.commit()
            self._savepoint = None
        self.flush()
        connection = self.session.connection()
        transaction_mark.find(connection, self._database)
        return connection

    @property
    def is_connection_lost(self) -> bool:
        return self._is_open and self._joined.connection.invalidated

    def flush(self) -> None:
        self._begin()  # a flush would begin a transaction that is not prepared for writing
        self.session.flush()

    def commit(self) -> None:
        joined = self._joined
        Session.commit(self.session)
        self._release()
        for notify in joined.to_tell:
            notify()

    def save(self, state: LoopState) -> Interruption | None:
        crash_points.require_life()
        with self._database.translating():  # the checkpoint is not a statement of the body
            return self._save(state)

    def _save(self, state: LoopState) -> Interruption | None:
        saver = self._loop.saver
        update = self._loop.update_for(state)
        connection = self.connection
        saver.lock_for_rows(connection, update)
        after = saver.saved_iterations
        while not self._store.checkpoints.save(connection, update, after=after):
            stop = saver.why_not_saved(connection, update)
            if stop is not None:
                transaction_mark.leave(connection)  # the finished items commit with the outcome
                return stop
            saver.require_unmoved(connection)
        saver.append_rows(connection, update)
        self.commit()
        self._loop.note_saved(update, state)
        return None

    def item_begins(self) -> None:
        self._begin()
        if self._loop.skips_item_errors:
            self._savepoint = self.session.begin_nested()

    def item_ends(self) -> None:
        self._loop.item_ends()
        if self._savepoint is not None:
            self._savepoint.commit()
            self._savepoint = None

    def item_failed(self) -> None:
        """Roll back the writes of a skipped item."""
        if self._savepoint is not None:
            self._savepoint.rollback()
            self._savepoint = None

    def body_goes_on(self) -> None:
        self._begin()

    def open_query(self, query: Any, cursor: Any) -> Query:
        return record_queries.open_query(query, cursor, self._own_session, detach=False)

    @contextmanager
    def _own_session(self) -> Iterator[Session]:
        self._begin()
        yield self.session

    def _begin(self) -> None:
        if self._is_open:
            return
        with ExitStack() as stack:
            # First the writer lock, then a connection, as everywhere. Otherwise the threads that
            # wait for the lock could hold all connections of a small pool.
            stack.enter_context(self._database.dialect.writing())
            connection = self.session.connection(execution_options={WRITES_OPTION: True})
            self._joined = stack.enter_context(self._database.joining(connection))
            transaction_mark.leave(connection)
            self._held = stack.pop_all()
        self._is_open = True

    def _roll_back(self) -> None:
        self._savepoint = None
        try:
            Session.rollback(self.session)
        finally:
            # Otherwise later writes of this thread would go to the ended transaction.
            self._release()

    def _release(self) -> None:
        self._is_open = False
        self._held.close()
