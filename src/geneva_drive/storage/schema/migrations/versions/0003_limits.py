"""Limits, their slots, and the executions that wait for a slot."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from geneva_drive.storage.schema.column_types import Moment, big_integer_key, name_type, uuid_key

revision = "0003"
down_revision = "0002"

PARKED = (
    "limit_key IS NULL OR (state IN ('in_progress', 'scheduled', 'suspended') AND wakes_at IS NULL)"
)


def upgrade() -> None:
    context = op.get_context()
    plan = context.config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    schema = _Schema(plan.prefix, uuid=plan.key_type == "uuid", connection=plan.connection)
    schema.create_limits()
    schema.create_slots()
    schema.park_executions(context.dialect.name)


class _Schema:
    """Adds only what is missing: MySQL commits each statement, and an earlier try may have died."""

    def __init__(self, prefix: str, *, uuid: bool, connection: sa.Connection | None) -> None:
        self._prefix = prefix
        self._uuid = uuid
        self._inspector = None if connection is None else sa.inspect(connection)

    def create_limits(self) -> None:
        self._create(
            "limits",
            sa.Column("limit_key", name_type(400), primary_key=True),
            sa.Column("concurrency", sa.Integer),
            sa.Column("rate", name_type(40)),
            sa.Column("last_number", sa.BigInteger, nullable=False),
            sa.Column("used_at", Moment),
            sa.Column("wakes_at", Moment),
        )
        wakes_at: sa.ColumnClause[Any] = sa.column("wakes_at")
        self._index("limits", "limits_timer", ["wakes_at"], wakes_at)

    def create_slots(self) -> None:
        of_limit = sa.ForeignKey(f"{self._prefix}limits.limit_key", ondelete="CASCADE")
        self._create(
            "limit_slots",
            sa.Column("limit_key", name_type(400), of_limit, primary_key=True),
            sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column(
                "execution_id", uuid_key() if self._uuid else big_integer_key(), nullable=False
            ),
            sa.Column("claim_token", name_type(32)),
            sa.Column("started_at", Moment, nullable=False),
        )
        token: sa.ColumnClause[Any] = sa.column("claim_token")
        self._index("limit_slots", "limit_slots_held", ["limit_key", "claim_token"], token)

    def park_executions(self, dialect: str) -> None:
        table = f"{self._prefix}step_executions"
        check = f"{table}_limit_is_ahead"
        if dialect == "sqlite":
            # SQLite adds a constraint to a table only together with a column.
            if not self._has_column(table):
                op.execute(
                    f'ALTER TABLE "{table}" ADD COLUMN limit_key VARCHAR(400) '
                    f'CONSTRAINT "{check}" CHECK ({PARKED})'
                )
        else:
            if not self._has_column(table):
                op.add_column(table, sa.Column("limit_key", name_type(400)))
            if not self._has_check(table, check):
                op.create_check_constraint(check, table, sa.text(PARKED))
        key: sa.ColumnClause[Any] = sa.column("limit_key")
        self._index(
            "step_executions",
            "step_executions_parked",
            ["limit_key", sa.text("priority DESC"), "id"],
            key,
        )

    def _create(self, name: str, *items: Any) -> None:
        if self._inspector is not None and self._inspector.has_table(self._prefix + name):
            return
        op.create_table(
            self._prefix + name,
            *items,
            mysql_engine="InnoDB",
            mysql_charset="utf8mb4",
            mariadb_engine="InnoDB",
            mariadb_charset="utf8mb4",
        )

    def _index(
        self, table: str, name: str, columns: list[Any], present: sa.ColumnClause[Any]
    ) -> None:
        """Index the rows that have a value in the column `present`; MySQL indexes all rows."""
        if self._has_index(self._prefix + table, self._prefix + name):
            return
        where = present.is_not(None)
        op.create_index(
            self._prefix + name,
            self._prefix + table,
            columns,
            postgresql_where=where,
            sqlite_where=where,
        )

    def _has_column(self, table: str) -> bool:
        inspector = self._inspector
        return inspector is not None and any(
            column["name"] == "limit_key" for column in inspector.get_columns(table)
        )

    def _has_check(self, table: str, name: str) -> bool:
        inspector = self._inspector
        return inspector is not None and any(
            check["name"] == name for check in inspector.get_check_constraints(table)
        )

    def _has_index(self, table: str, name: str) -> bool:
        inspector = self._inspector
        if inspector is None:
            return False
        # The table may have changed since the inspector read it.
        inspector.clear_cache()
        return inspector.has_table(table) and any(
            index["name"] == name for index in inspector.get_indexes(table)
        )
