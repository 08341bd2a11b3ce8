"""The operations in which databases differ; the defaults suit a database with row locks."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Index,
    RowMapping,
    Select,
    Table,
    Update,
    and_,
    bindparam,
    exists,
    func,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.engine import URL
from sqlalchemy.engine import Dialect as SQLAlchemyDialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.settings import Settings
from geneva_drive.storage.dialects.claim_request import ClaimRequest, Taken
from geneva_drive.storage.dialects.completion_batch import Completed, CompletionBatch
from geneva_drive.storage.dialects.event_insert import (
    FoundListeners,
    Publication,
    Stored,
    UndeliveredEvent,
)
from geneva_drive.storage.dialects.health_check import Look, Thresholds
from geneva_drive.storage.dialects.hints import Hints, Notice, Write
from geneva_drive.storage.dialects.kept_writes import KeptWrite
from geneva_drive.storage.schema.records import Key, NodeKey
from geneva_drive.storage.schema.tables import Tables

Row = Mapping[str, Any]
Started = tuple[Key, Key | None]  # the keys of the workflow and of its first execution


_CONNECT_SECONDS = 10


class MigrationHeld(TimeoutError):
    """Another process held the migration lock for too long."""


class Dialect:
    """Claims with SKIP LOCKED and locks with FOR UPDATE."""

    completes_fast = False  # whether `complete` writes anything
    # Whether claim, completion and start are one statement each, which autocommits.
    is_at_once = False
    url_options: Sequence[str] = ()  # parameters of a URL for this package, not for the driver
    may_lose_connections = True  # so idle connections are tested before use
    has_partial_indexes = True
    # A condition that is true for every row, and makes the commit of its statement not wait for the
    # disk, so that a crash may lose it. None if the database has no such setting for one commit.
    without_durability: ColumnElement[bool] | None = None
    transactional_ddl: bool | None = None  # for printed migrations; None leaves it to Alembic
    own_driver: str  # the driver that a URL without one gets
    driver_takes_uuids = False
    placeholder = "%s"
    quote = '"'
    # Held during a single statement that autocommits, instead of `writing`.
    writing_alone: AbstractContextManager[Any] = contextlib.nullcontext()

    def connect_arguments(self, url: URL) -> dict[str, Any]:
        """Limit how long connecting may take: a stopping worker waits for it."""
        return {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECT_SECONDS}

    def prepare_own(self, engine: Engine, url: URL) -> None:
        """Set up an engine that was made for this Drive from a URL."""

    def prepare(self, engine: Engine, settings: Settings) -> None:
        """Set up the connections that an engine will open, the Drive's own or a user's engine."""

    def forget_plans(self, connection: Connection) -> None:
        """Discard the query plans of a connection that is kept open while tables grow."""

    def writing(self) -> AbstractContextManager[None]:
        """Return the lock that a writing transaction of this process has to hold."""
        return contextlib.nullcontext()

    def ensure_transaction(self, connection: Connection) -> None:
        """Begin a transaction on a caller's connection if none is open."""

    def server_name(self, dialect: SQLAlchemyDialect) -> str:
        return dialect.name

    def migration_lock(
        self,
        engine: Engine,  # noqa: ARG002 - the servers' dialects use it
        patience: timedelta,  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        """Keep other processes from migrating; raise MigrationHeld if one takes too long.

        A separate connection holds the lock until the migration is committed. If it were released
        earlier, the next process would find tables without a revision.
        """
        return contextlib.nullcontext()

    def looks(
        self,
        tables: Tables,  # noqa: ARG002 - the dialects use it
        thresholds: Thresholds,  # noqa: ARG002
    ) -> Iterable[tuple[str, Look]]:
        """Return the checks of `geneva doctor` that only this database has, by name."""
        return ()

    def invalid_indexes(self, connection: Connection) -> set[str]:  # noqa: ARG002 - PostgreSQL's
        return set()

    def execute_many(self, cursor: Any, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute for all rows in one transaction, on a cursor of `own_driver` that autocommits.

        `rowcount` of the cursor is then the number of matched rows.
        """
        raise NotImplementedError

    def by_index(self, query: Select[Any], table: Table, index: str) -> Select[Any]:  # noqa: ARG002 - used on MySQL
        """Return the query with a hint to use this index, where the optimizer chooses badly."""
        return query

    def of_workflow(
        self, table: Table, workflow_id: Key, *conditions: ColumnElement[bool]
    ) -> ColumnElement[bool]:
        """Return the condition for a workflow's rows, of which there may be 100,000."""
        return and_(table.c.workflow_id == workflow_id, *conditions)

    def along_index(
        self,
        query: Select[Any],
        index: Index,
        values: Sequence[Any],
        *,
        after: Key | None,
        descending: bool = False,
    ) -> Select[Any]:
        """Return the query for rows with these values in the first columns of an index.

        The rows are ordered by the last column of the index, and start after the key `after`.
        """
        *columns, key = index.columns
        query = query.where(*(c == value for c, value in zip(columns, values, strict=True)))
        if after is not None:
            query = query.where(key < after if descending else key > after)
        ordered = query.order_by(key.desc() if descending else key)
        return self.by_index(ordered, key.table, str(index.name))

    def without_match(
        self,
        query: Select[Any],
        table: Table,  # noqa: ARG002 - used on MySQL
        is_match: ColumnElement[bool],
    ) -> Select[Any]:
        """Return the query for the rows that have no match in another table."""
        return query.where(~exists().where(is_match))

    def by_key(self, statement: Update) -> Update:
        """Return an update that finds its rows by the primary key, and locks no others."""
        return statement

    def lock(self, query: Select[Any], *, skip_locked: bool = False) -> Select[Any]:
        return query.with_for_update(skip_locked=skip_locked)

    def now(self) -> ColumnElement[datetime]:
        """Return the clock of the database, which measures leases."""
        return func.clock_timestamp()

    def was_refused(self, error: DBAPIError) -> bool:  # noqa: ARG002 - the dialects use it
        """True if the server itself reported that it did not execute the statement."""
        return False

    def is_absent(self, engine: Engine) -> bool:  # noqa: ARG002 - SQLite's
        """True if there is no database, and connecting would create one."""
        return False

    def claim(
        self, connection: Connection, tables: Tables, request: ClaimRequest
    ) -> Sequence[Taken]:
        """Claim the most urgent executions of a worker's lanes, in the order to run them."""
        raise NotImplementedError

    def take(
        self, connection: Connection, table: Table, due: Select[Any], values: dict[str, Any]
    ) -> Sequence[RowMapping]:
        """Update the rows that `due` selects, skipping locked ones, and return them."""
        # A common table expression is evaluated once. A plain subquery may be evaluated for each
        # row, and would then lock and take more rows than its limit.
        taken = self.lock(due, skip_locked=True).cte("taken")
        claimed = connection.execute(
            update(table)
            .where(table.c.id.in_(select(taken.c.id)))
            .values(**values)
            .returning(table)
        )
        return claimed.mappings().all()

    def among(self, column: Column[Any], values: Iterable[Any]) -> ColumnElement[bool]:
        """Return the condition that a column has one of these values, however many."""
        return column.in_(list(values))

    def listed(self, column: Column[Any], parameter: str) -> ColumnElement[bool]:
        """Return the condition of `among` with a bind parameter, for a statement that is reused."""
        return column.in_(bindparam(parameter, expanding=True))

    def unindexed(self, column: Column[Any]) -> ColumnElement[Any]:
        """Return the column in a form that keeps the optimizer from using an index on it."""
        return column

    def among_nodes(self, table: Table, wanted: Collection[NodeKey]) -> ColumnElement[bool]:
        """Return the condition that a row belongs to one of these nodes."""
        workflow_id, node_id = table.c.workflow_id, table.c.node_id
        workflows = {key for key, _ in wanted}
        if len(workflows) > 1:
            return tuple_(workflow_id, node_id).in_(wanted)
        return and_(workflow_id.in_(workflows), self.among(node_id, [node for _, node in wanted]))

    def read_nodes(
        self,
        connection: Connection,
        table: Table,
        wanted: Collection[NodeKey],
        columns: Sequence[ColumnElement[Any]],
        *where: ColumnElement[bool],
    ) -> Sequence[Any]:
        """Return these columns of the nodes' rows, in no order."""
        found = self.among_nodes(table, wanted)
        return connection.execute(select(*columns).where(found, *where)).all()

    def insert_many(
        self, connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]
    ) -> None:
        """Insert rows that all have the same columns."""
        connection.execute(insert(table), list(rows))

    def write_together(
        self,
        connection: Connection,
        writes: Sequence[KeptWrite],
        notice: Notice | None,  # noqa: ARG002 - for the database that sends them
    ) -> list[int]:
        """Execute writes to different rows, in few round trips; return the row count of each."""
        return [connection.execute(one.statement, one.values).rowcount for one in writes]

    def analyze(self, connection: Connection, table: Table) -> None:
        """Update a table's statistics, if the database would not do so soon enough."""

    def start(
        self,
        connection: Connection,
        tables: Tables,
        workflow: Mapping[str, Any],
        execution: Mapping[str, Any] | None,
        notice: Notice | None,
    ) -> Started | None:
        """Insert a workflow and its first execution; None if an index refuses the workflow."""
        raise NotImplementedError

    def publish(self, connection: Connection, tables: Tables, new: Publication) -> Stored | None:
        """Insert an event; if its source has published the id before, return None or raise.

        The error is an `IntegrityError`. Where the database supports it, the same statement
        releases the wait for the event, if there is only one.
        """
        [row] = tables.keyed([new.event])
        result = connection.execute(insert(tables.events), row)
        return Stored(result.inserted_primary_key[0] if result.inserted_primary_key else row["id"])

    def find_listeners(
        self, connection: Connection, tables: Tables, event: UndeliveredEvent
    ) -> FoundListeners:
        """Return the listeners of a stored event; if there are none, mark the event as delivered.

        The caller's transaction began after the event's commit. So a wait that it does not see will
        be committed later, and then finds the event.
        """
        c, e = tables.event_listeners.c, tables.events.c
        fits = c.pattern.in_(event.patterns) & c.awaited_key.in_({event.event_key, ""})
        found = connection.execute(select(c.wait_id, c.workflow_id, c.type).where(fits)).all()
        if found:
            return found, False
        is_left = (e.id == event.key) & e.undelivered_at.is_not(None)
        marked = connection.execute(
            update(tables.events).where(is_left).values(undelivered_at=None)
        )
        return (), marked.rowcount == 1

    def hints(
        self,
        engine: Engine,  # noqa: ARG002 - the dialects use it
        channel: str,  # noqa: ARG002
        write: Write,  # noqa: ARG002
        saving: AbstractContextManager[Any] | None,  # noqa: ARG002
    ) -> Hints:
        """Return the hints by which processes notify each other that something may be due.

        `saving` yields the kept connection that saves checkpoints.
        """
        return Hints()

    def complete(
        self,
        connection: Connection,  # noqa: ARG002 - for the dialects that have a fast path
        tables: Tables,  # noqa: ARG002
        batch: CompletionBatch,  # noqa: ARG002
    ) -> dict[Key, Completed]:
        """Write and return plain completions; the caller completes the others the general way."""
        return {}
