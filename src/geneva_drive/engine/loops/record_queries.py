"""Open the queries that loops read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from geneva_drive.engine.environment import Environment
from geneva_drive.iteration.loop_backend import Query
from geneva_drive.iteration.sources.querysets import QuerySetRecords, is_queryset
from geneva_drive.storage.connections.database import Database
from geneva_drive.storage.keysets.keyset import Keyset

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

OpenSession = Callable[[], "AbstractContextManager[Session]"]


def open_query(
    query: Any, cursor: Any, open_session: OpenSession, *, detach: bool
) -> Keyset | QuerySetRecords:
    """Prepare a select or a QuerySet for reading after any cursor."""
    if is_queryset(query):
        return QuerySetRecords(query, cursor)
    return Keyset(query, cursor, open_session=open_session, detach=detach)


class PatientQuery:
    """A query whose reads wait for a database in trouble; each can be repeated from its cursor."""

    def __init__(self, query: Query, database: Database) -> None:
        self._query = query
        self._database = database

    def read(self, after: Any, limit: int) -> Sequence[tuple[Any, Any]]:
        return self._database.patiently(lambda: self._query.read(after, limit))

    def read_batch(self, after: Any, size: int) -> tuple[Any, Any] | None:
        return self._database.patiently(lambda: self._query.read_batch(after, size))

    def split(self, after: Any, parts: int) -> Sequence[Any]:
        return self._database.patiently(lambda: self._query.split(after, parts))

    def cut(self, size: int) -> Iterator[Any]:
        return self._query.cut(size)

    def up_to(self, until: Any) -> PatientQuery:
        return PatientQuery(self._query.up_to(until), self._database)


@contextmanager
def session_of(environment: Environment) -> Iterator[Session]:
    """Open a session on the user's tables: from `session_factory`, or on the Drive's engine."""
    # Imported here: the ORM doubles the import time, and only loops over records need it.
    from sqlalchemy.orm import Session

    factory = environment.settings.session_factory
    if factory is not None:
        with factory() as session:
            yield session
        return
    with (
        environment.store.database.translating(),
        Session(environment.store.database.engine) as session,
    ):
        yield session
