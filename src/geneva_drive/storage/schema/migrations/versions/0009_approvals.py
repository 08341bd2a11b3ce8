"""Approvals, the links to decide them, and requests to resume."""

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

revision = "0009"
down_revision = "0008"

_ALIKE: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
}
_STATES = ("approved", "canceled", "expired", "pending", "rejected")
_TRIGGERS = ("approval", "event", "manual", "timeout")


def upgrade() -> None:
    context = op.get_context()
    plan = context.config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    schema = _Schema(
        plan.prefix,
        uuid=plan.key_type == "uuid",
        connection=plan.connection,
        is_mysql=context.dialect.name in ("mysql", "mariadb"),
    )
    schema.count_waits()
    schema.extend_audit_entries()
    schema.create_approvals()
    schema.create_people()
    schema.create_links()
    schema.create_resume_requests()


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

    def count_waits(self) -> None:
        zero = sa.text("0")
        self._add_column(
            "workflows", sa.Column("open_waits", sa.Integer, nullable=False, server_default=zero)
        )
        columns = ["type", "id"]
        if self._is_mysql:
            marks = sa.Computed("CASE WHEN open_waits > 0 THEN 1 END", persisted=True)
            self._add_column("workflows", sa.Column("waits", sa.SmallInteger, marks))
            columns.insert(0, "waits")
        is_waiting: Any = sa.literal_column("open_waits") > sa.literal_column("0")
        self._index("workflows", "waits", columns, is_waiting)

    def extend_audit_entries(self) -> None:
        self._add_column("audit_entries", sa.Column("approval_id", self._key))

    def create_approvals(self) -> None:
        self._create(
            "approvals",
            self._id(),
            self._reference("workflows", "workflow_id"),
            sa.Column("execution_id", self._key, nullable=False),
            sa.Column("step_name", name_type(), nullable=False),
            sa.Column("state", name_type(20), nullable=False),
            sa.Column("title", long_text()),
            sa.Column("facts", long_text()),
            sa.Column("initial", long_text()),
            sa.Column("form", name_type(255)),
            sa.Column("role", name_type()),
            sa.Column("approvers", long_text()),
            sa.Column("choices", long_text(), nullable=False),
            sa.Column("quorum", sa.Integer, nullable=False),
            sa.Column("reject_quorum", sa.Integer, nullable=False),
            sa.Column("deny_self", sa.Boolean, nullable=False),
            sa.Column("timeout_seconds", sa.Double),
            sa.Column("escalates_on_timeout", sa.Boolean, nullable=False),
            sa.Column("escalate_to", name_type()),
            sa.Column("escalation_count", sa.Integer, nullable=False),
            sa.Column("requested_at", Moment, nullable=False),
            sa.Column("expires_at", Moment),
            sa.Column("wakes_at", Moment),
            sa.Column("decided_at", Moment),
            sa.Column("decided_by", name_type(255)),
            sa.Column("choice", name_type()),
            sa.Column("comment", long_text()),
            sa.Column("data", long_text()),
            self._check_in("approvals", "state", _STATES),
        )
        is_pending: Any = sa.column("state") == sa.literal_column("'pending'")
        state = ["state"] if self._is_mysql else []
        self._index("approvals", "workflow", ["workflow_id"])
        self._index("approvals", "pending", [*state, "id"], is_pending)
        self._index("approvals", "role", [*state, "role", "id"], is_pending)
        is_timed: Any = sa.column("wakes_at").is_not(None)
        self._index("approvals", "timer", ["wakes_at"], is_timed)

    def create_people(self) -> None:
        self._create(
            "approval_people",
            self._reference("approvals", "approval_id", primary_key=True, autoincrement=False),
            sa.Column("person", name_type(255), primary_key=True),
            sa.Column("is_assigned", sa.Boolean),
            sa.Column("choice", name_type()),
            sa.Column("comment", long_text()),
            sa.Column("data", long_text()),
            sa.Column("voted_at", Moment),
        )
        is_assigned: Any = sa.column("is_assigned") == sa.true()
        columns = [*(["is_assigned"] if self._is_mysql else []), "person", "approval_id"]
        self._index("approval_people", "assigned", columns, is_assigned)

    def create_links(self) -> None:
        self._create(
            "approval_links",
            self._id(),
            self._reference("approvals", "approval_id"),
            sa.Column("token_hash", name_type(64), nullable=False),
            sa.Column("person", name_type(255), nullable=False),
            sa.Column("created_at", Moment, nullable=False),
            sa.Column("expires_at", Moment, nullable=False),
            sa.Column("closed_at", Moment),
        )
        self._index("approval_links", "token", ["token_hash"], unique=True)
        self._index("approval_links", "approval", ["approval_id"])

    def create_resume_requests(self) -> None:
        self._create(
            "resume_requests",
            self._id(),
            self._reference("workflows", "workflow_id"),
            sa.Column("kind", name_type(20), nullable=False),
            sa.Column("trigger_id", name_type(255)),
            sa.Column("actor", name_type(255)),
            sa.Column("data", long_text()),
            sa.Column("requested_at", Moment, nullable=False),
            sa.Column("executed_at", Moment),
            sa.Column("error", long_text()),
            self._check_in("resume_requests", "kind", _TRIGGERS),
        )
        self._index("resume_requests", "workflow", ["workflow_id"])

    def _id(self) -> sa.Column[Any]:
        if self._uuid:
            return sa.Column("id", uuid_key(), primary_key=True)
        return sa.Column("id", big_integer_key(), primary_key=True, autoincrement=True)

    def _reference(self, table: str, column: str, **options: Any) -> sa.Column[Any]:
        target = sa.ForeignKey(f"{self._prefix}{table}.id", ondelete="CASCADE")
        return sa.Column(column, self._key, target, nullable=False, **options)

    def _check_in(self, table: str, column: str, values: tuple[str, ...]) -> sa.CheckConstraint:
        listed = ", ".join(f"'{value}'" for value in values)
        return sa.CheckConstraint(
            f"{column} IN ({listed})", name=f"{self._prefix}{table}_{column}_known"
        )

    def _create(self, table: str, *items: Any) -> None:
        name = f"{self._prefix}{table}"
        if self._inspector is None or not self._inspector.has_table(name):
            op.create_table(name, *items, **_ALIKE)

    def _add_column(self, table: str, column: sa.Column[Any]) -> None:
        name = f"{self._prefix}{table}"
        if self._inspector is not None:
            self._inspector.clear_cache()
            present = {one["name"] for one in self._inspector.get_columns(name)}
            if column.name in present:
                return
        op.add_column(name, column)

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
