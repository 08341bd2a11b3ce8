"""Records for loops: how a step's queries are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from geneva_drive.engine.environment import Environment
from geneva_drive.iteration.sources.querysets import QuerySetRecords, is_queryset
from geneva_drive.storage.keysets.keyset import Keyset

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

OpenSession = Callable[[], "AbstractContextManager[Session]"]


def open_query(
    query: Any, cursor: Any, open_session: OpenSession, *, detach: bool
) -> Keyset | QuerySetRecords:
    """Get a query ready to be read from any cursor on, one by one or in batches."""
    if is_queryset(query):
        return QuerySetRecords(query, cursor)
    return Keyset(query, cursor, open_session=open_session, detach=detach)


@contextmanager
def session_of(environment: Environment) -> Iterator[Session]:
    """Open a session on the user's tables for a moment: with the Drive's engine, or their own."""
    # Who loops over records has loaded this; for the others it takes as long as all the rest.
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
