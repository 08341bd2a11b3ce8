"""Events, what waits for them, what they start, and callbacks."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from geneva_drive.storage.schema.column_types import (
    Moment,
    big_integer_key,
    long_text,
    name_type,
    uuid_key,
)

revision = "0012"
down_revision = "0011"

_ALIKE: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
}
_STATES = ("canceled", "heard", "open", "timed_out")


def upgrade() -> None:
    context = op.get_context()
    plan = context.config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    schema = _Schema(
        plan.prefix,
        uuid=plan.key_type == "uuid",
        connection=plan.connection,
        is_mysql=context.dialect.name in ("mysql", "mariadb"),
    )
    schema.create_events()
    schema.create_waits()
    schema.create_listeners()
    schema.create_receipts()
    schema.create_starts()
    schema.create_callbacks()


class _Schema:
    """Adds what is missing: MySQL commits each statement, and an earlier try may have died."""

    def __init__(
        self, prefix: str, *, uuid: bool, connection: sa.Connection | None, is_mysql: bool
    ) -> None:
        self._prefix = prefix
        self._uuid = uuid
        self._key = uuid_key() if uuid else big_integer_key()
        self._inspector = None if connection is None else sa.inspect(connection)
        self._is_mysql = is_mysql

    def create_events(self) -> None:
        self._create(
            "events",
            self._id(),
            sa.Column("source", name_type(), nullable=False),
            sa.Column("event_id", name_type(), nullable=False),
            sa.Column("type", name_type(), nullable=False),
            sa.Column("event_key", name_type(), nullable=False),
            sa.Column("payload", long_text(), nullable=False),
            sa.Column("published_at", Moment, nullable=False),
            sa.Column("expires_at", Moment),
            self._reference("workflows", "workflow_id", nullable=True),
            sa.Column("undelivered_at", Moment),
            sqlite_autoincrement=True,
        )
        self._index("events", "id", ["source", "event_id"], unique=True)
        self._index("events", "type", ["type", "event_key", "id"])
        partial = {
            "expiry": "expires_at",
            "workflow": "workflow_id",
            "undelivered": "undelivered_at",
        }
        for name, column in partial.items():
            self._index("events", name, [column], sa.column(column).is_not(None))

    def create_waits(self) -> None:
        self._create(
            "event_waits",
            self._id(),
            self._reference("workflows", "workflow_id"),
            sa.Column("execution_id", self._key, nullable=False),
            sa.Column("step_name", name_type(), nullable=False),
            sa.Column("state", name_type(20), nullable=False),
            sa.Column("types", long_text(), nullable=False),
            sa.Column("awaited_key", name_type(), nullable=False),
            sa.Column("is_all", sa.Boolean, nullable=False),
            sa.Column("has_match", sa.Boolean, nullable=False),
            sa.Column("seen_id", self._key),
            sa.Column("arrived", long_text()),
            sa.Column("has_looked", sa.Boolean, nullable=False, server_default=sa.false()),
            sa.Column("opened_at", Moment, nullable=False),
            sa.Column("expires_at", Moment),
            sa.Column("wakes_at", Moment),
            self._check_in("event_waits", "state", _STATES),
        )
        self._index("event_waits", "workflow", ["workflow_id"])
        self._index("event_waits", "timer", ["wakes_at"], sa.column("wakes_at").is_not(None))
        is_open: Any = sa.column("state") == sa.literal_column("'open'")
        blind: Any = is_open & (sa.column("has_looked") == sa.false())
        state = ["state", "has_looked"] if self._is_mysql else []
        self._index("event_waits", "blind", [*state, "opened_at"], blind)

    def create_listeners(self) -> None:
        self._create(
            "event_listeners",
            self._id(),
            sa.Column("pattern", name_type(), nullable=False),
            sa.Column("awaited_key", name_type(), nullable=False),
            self._reference("event_waits", "wait_id", nullable=True),
            sa.Column("workflow_id", self._key),
            sa.Column("type", name_type()),
        )
        self._index("event_listeners", "pattern", ["pattern", "awaited_key"])
        self._index("event_listeners", "wait", ["wait_id"])

    def create_receipts(self) -> None:
        self._create(
            "event_receipts",
            self._id(),
            self._reference("workflows", "workflow_id"),
            self._reference("events", "event_id"),
            self._reference("event_waits", "wait_id"),
            sa.Column("place", sa.Integer, nullable=False),
            sa.Column("at", Moment, nullable=False),
        )
        self._index("event_receipts", "once", ["workflow_id", "event_id"], unique=True)
        self._index("event_receipts", "event", ["event_id"])
        self._index("event_receipts", "wait", ["wait_id", "place"], unique=True)

    def create_starts(self) -> None:
        self._create(
            "event_starts",
            self._reference("events", "event_id", primary_key=True, autoincrement=False),
            sa.Column("type", name_type(), primary_key=True),
            sa.Column("workflow_id", self._key),
            sa.Column("error", long_text()),
            sa.Column("due_at", Moment),
            sa.Column("done_at", Moment),
        )
        is_due = sa.column("due_at").is_not(None)
        self._index("event_starts", "due", ["type", "due_at"], is_due)

    def create_callbacks(self) -> None:
        self._create(
            "callbacks",
            self._id(),
            self._reference("workflows", "workflow_id"),
            sa.Column("step_name", name_type(), nullable=False),
            sa.Column("token_hash", name_type(64), nullable=False),
            sa.Column("created_at", Moment, nullable=False),
        )
        self._index("callbacks", "token", ["token_hash"], unique=True)
        self._index("callbacks", "workflow", ["workflow_id"])

    def _id(self) -> sa.Column[Any]:
        if self._uuid:
            return sa.Column("id", uuid_key(), primary_key=True)
        return sa.Column("id", big_integer_key(), primary_key=True, autoincrement=True)

    def _reference(
        self, table: str, column: str, *, nullable: bool = False, **options: Any
    ) -> sa.Column[Any]:
        target = sa.ForeignKey(f"{self._prefix}{table}.id", ondelete="CASCADE")
        return sa.Column(column, self._key, target, nullable=nullable, **options)

    def _check_in(self, table: str, column: str, values: tuple[str, ...]) -> sa.CheckConstraint:
        listed = ", ".join(f"'{value}'" for value in values)
        return sa.CheckConstraint(
            f"{column} IN ({listed})", name=f"{self._prefix}{table}_{column}_known"
        )

    def _create(self, table: str, *items: Any, **options: Any) -> None:
        name = f"{self._prefix}{table}"
        if self._inspector is None or not self._inspector.has_table(name):
            op.create_table(name, *items, **options, **_ALIKE)

    def _index(
        self, table: str, name: str, columns: list[str], where: Any = None, *, unique: bool = False
    ) -> None:
        """Index the rows for which `where` holds; MySQL indexes all rows."""
        full_table, full_name = f"{self._prefix}{table}", f"{self._prefix}{table}_{name}"
        if self._inspector is not None:
            # The table may have changed since the inspector read it.
            self._inspector.clear_cache()
            if full_name in {one["name"] for one in self._inspector.get_indexes(full_table)}:
                return
        where = None if self._is_mysql else where
        op.create_index(
            full_name,
            full_table,
            columns,
            unique=unique,
            postgresql_where=where,
            sqlite_where=where,
        )
