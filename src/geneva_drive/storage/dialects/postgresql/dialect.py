"""PostgreSQL: SKIP LOCKED, RETURNING, and errors by SQLSTATE."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    Select,
    Table,
    Text,
    Uuid,
    any_,
    bindparam,
    column,
    func,
    literal,
    literal_column,
    select,
    text,
    true,
    tuple_,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.storage.dialects.base import Dialect, MigrationHeld, Started
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
from geneva_drive.storage.dialects.postgresql import (
    combined_write,
    connect_options,
    driver_errors,
    event_insert,
    health,
)
from geneva_drive.storage.dialects.postgresql.claim import claim
from geneva_drive.storage.dialects.postgresql.complete import complete
from geneva_drive.storage.dialects.postgresql.insert import insert_columns, start
from geneva_drive.storage.dialects.postgresql.notices import Notices
from geneva_drive.storage.dialects.trouble import Trouble
from geneva_drive.storage.schema.records import Key, NodeKey
from geneva_drive.storage.schema.tables import Tables

_MANY = 50  # from so many rows on, sending them column by column is faster


class PostgreSQL(Dialect):
    """Claims, completes and starts with one statement each."""

    completes_fast = True
    is_at_once = True
    without_durability = func.set_config("synchronous_commit", "off", True) == "off"
    own_driver = "psycopg"
    driver_takes_uuids = True
    url_options = (connect_options.PREPARE,)

    def connect_arguments(self, url: URL) -> dict[str, Any]:
        limits = super().connect_arguments(url)
        if limits:
            limits |= connect_options.time_limits(url)
        return limits | connect_options.prepare_threshold(url)

    def prepare_own(self, engine: Engine, url: URL) -> None:
        if engine.dialect.driver == self.own_driver and connect_options.PREPARE not in url.query:
            connect_options.prepare_nothing_through_a_pooler(engine)

    def migration_lock(self, engine: Engine, patience: timedelta) -> AbstractContextManager[None]:
        return _migration_lock(engine, patience)

    def looks(self, tables: Tables, thresholds: Thresholds) -> Iterable[tuple[str, Look]]:
        return health.looks(tables, thresholds)

    def invalid_indexes(self, connection: Connection) -> set[str]:
        return health.invalid_indexes(connection)

    def execute_many(self, cursor: Any, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with cursor.connection.transaction():
            cursor.executemany(statement, rows)

    def claim(
        self, connection: Connection, tables: Tables, request: ClaimRequest
    ) -> Sequence[Taken]:
        return claim(connection, tables, request)

    def along_index(
        self,
        query: Select[Any],
        index: Index,
        values: Sequence[Any],
        *,
        after: Key | None,
        descending: bool = False,
    ) -> Select[Any]:
        # PostgreSQL drops columns that equal a value from the ORDER BY. It would then prefer to
        # read the table by its key, past all ended workflows before the first wanted one. So the
        # last value is written as a range of one value.
        *columns, last, key = index.columns
        *others, value = values
        low, high = last >= value, last <= value
        if after is not None:
            row = tuple_(last, key)
            place = tuple_(literal(value, last.type), literal(after, key.type))
            low, high = (low, row < place) if descending else (row > place, high)
        equal = (c == other for c, other in zip(columns, others, strict=True))
        order = (last.desc(), key.desc()) if descending else (last, key)
        return query.where(*equal, low, high).order_by(*order)

    def forget_plans(self, connection: Connection) -> None:
        # A plan made for an empty table scans the whole table. The server keeps it until it
        # analyzes the table, and for those minutes each step takes longer.
        with connection.begin():
            connection.exec_driver_sql("DISCARD PLANS")

    def was_refused(self, error: DBAPIError) -> bool:
        # On shutdown, a server ends a connection before a commit or after its answer, never between
        # the two.
        return driver_errors.sqlstate_of(error.orig) == driver_errors.ADMIN_SHUTDOWN

    def among(self, column: Column[Any], values: Iterable[Any]) -> ColumnElement[bool]:
        # One array: the statement is the same for any number of values, and is planned once.
        return column == any_(literal(list(values), _list_of(column)))

    def listed(self, column: Column[Any], parameter: str) -> ColumnElement[bool]:
        return column == any_(bindparam(parameter, type_=_list_of(column)))

    def write_together(
        self, connection: Connection, writes: Sequence[KeptWrite], notice: Notice | None
    ) -> list[int]:
        return combined_write.execute(connection, writes, notice)

    def read_nodes(
        self,
        connection: Connection,
        table: Table,
        wanted: Collection[NodeKey],
        columns: Sequence[ColumnElement[Any]],
        *where: ColumnElement[bool],
    ) -> Sequence[Any]:
        query = _nodes_query(table, tuple(columns), where)
        keys, nodes = zip(*wanted, strict=True)
        return connection.execute(query, {"keys": list(keys), "nodes": list(nodes)}).all()

    def insert_many(
        self, connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]
    ) -> None:
        # The driver sends rows one by one, and waits for an answer to each.
        if connection.dialect.driver == "psycopg" and len(rows) >= _MANY:
            insert_columns(connection, table, rows)
        else:
            super().insert_many(connection, table, rows)

    def analyze(self, connection: Connection, table: Table) -> None:
        # Autovacuum analyzes once a minute. Until then PostgreSQL expects few claimable rows, and
        # each claim sorts all of them. SKIP_LOCKED: the transaction may be a caller's own, and
        # must not wait for another process that analyzes the table.
        name = connection.dialect.identifier_preparer.format_table(table)
        connection.exec_driver_sql(f"ANALYZE (SKIP_LOCKED) {name}")

    def start(
        self,
        connection: Connection,
        tables: Tables,
        workflow: Mapping[str, Any],
        execution: Mapping[str, Any] | None,
        notice: Notice | None,
    ) -> Started | None:
        return start(connection, tables, workflow, execution, notice)

    def publish(self, connection: Connection, tables: Tables, new: Publication) -> Stored | None:
        return event_insert.publish(connection, tables, new)

    def find_listeners(
        self, connection: Connection, tables: Tables, event: UndeliveredEvent
    ) -> FoundListeners:
        return event_insert.find_listeners(connection, tables, event)

    def hints(
        self,
        engine: Engine,
        channel: str,
        write: Write,
        saving: AbstractContextManager[Any] | None,  # noqa: ARG002 - used on SQLite
    ) -> Hints:
        # Other drivers, which a user's own engine may have, receive notices in other ways.
        return Notices(engine, channel, write) if engine.dialect.driver == "psycopg" else Hints()

    def complete(
        self, connection: Connection, tables: Tables, batch: CompletionBatch
    ) -> dict[Key, Completed]:
        return complete(connection, tables, batch)


def _list_of(column: Column[Any]) -> ARRAY[Any]:
    return ARRAY(column.type if isinstance(column.type, Integer | Uuid) else Text())


@lru_cache(maxsize=64)
def _nodes_query(
    table: Table, columns: Sequence[ColumnElement[Any]], where: Sequence[ColumnElement[bool]]
) -> Select[Any]:
    # Each node is looked up separately, and OFFSET 0 keeps the planner from rewriting that. Without
    # statistics it would compare all nodes of a workflow with all wanted ones.
    workflow_id, node_id = table.c.workflow_id, table.c.node_id
    given = (
        func.unnest(
            bindparam("keys", type_=ARRAY(workflow_id.type)),
            bindparam("nodes", type_=ARRAY(Text())),
        )
        .table_valued(column("workflow_id", workflow_id.type), column("node_id", Text()))
        .render_derived()
    )
    at = (workflow_id == given.c.workflow_id) & (node_id == given.c.node_id)
    one = select(*columns).where(at, *where).offset(literal_column("0")).lateral()
    return select(*one.c).select_from(given.join(one, true()))


_LOCK_NUMBER = 7_046_029_254_386_353  # any number that no other program uses


@contextmanager
def _migration_lock(engine: Engine, patience: timedelta) -> Iterator[None]:
    with engine.connect() as holder:
        holder.execute(text(f"SET LOCAL lock_timeout = {patience // timedelta(milliseconds=1)}"))
        try:
            holder.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _LOCK_NUMBER})
        except DBAPIError as error:
            if driver_errors.sort(error.orig or error) is Trouble.BUSY:
                raise MigrationHeld from error
            raise
        yield
