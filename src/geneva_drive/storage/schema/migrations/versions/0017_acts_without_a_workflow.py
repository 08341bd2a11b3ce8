"""Audit entries for acts without a workflow, and the reason why a schedule is paused."""

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

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    # MySQL commits each statement, and an earlier try may have died after any of them.
    inspector = None if plan.connection is None else sa.inspect(plan.connection)
    entries, schedules = f"{plan.prefix}audit_entries", f"{plan.prefix}schedules"
    is_uuid = plan.key_type == "uuid"
    if not _has(inspector, schedules, "paused_reason"):
        op.add_column(schedules, sa.Column("paused_reason", long_text()))
    if op.get_context().dialect.name == "sqlite":
        _rebuild(entries, f"{plan.prefix}workflows", inspector, is_uuid=is_uuid)
        return
    op.alter_column(entries, "workflow_id", existing_type=_key(is_uuid=is_uuid), nullable=True)
    if not _has(inspector, entries, "subject"):
        op.add_column(entries, sa.Column("subject", name_type()))


def _has(inspector: sa.Inspector | None, table: str, column: str) -> bool:
    if inspector is None:
        return False
    return column in {one["name"] for one in inspector.get_columns(table)}


def _key(*, is_uuid: bool) -> Any:
    return uuid_key() if is_uuid else big_integer_key()


def _rebuild(
    entries: str, workflows: str, inspector: sa.Inspector | None, *, is_uuid: bool
) -> None:
    """Copy the table: SQLite cannot make a column nullable."""
    copy, index = f"{entries}_copy", f"{entries}_workflow"
    # On SQLite this is one transaction, unless an operator runs the printed statements one by one.
    present = {entries} if inspector is None else set(inspector.get_table_names())
    indexes: set[str | None] = set()
    if entries not in present:
        op.rename_table(copy, entries)
    elif inspector is not None and _has(inspector, entries, "subject"):
        indexes = {one["name"] for one in inspector.get_indexes(entries)}
    else:
        if copy in present:
            op.drop_table(copy)
        _fill(copy, entries, workflows, is_uuid=is_uuid)
        op.drop_table(entries)
        op.rename_table(copy, entries)
    if index not in indexes:
        op.create_index(index, entries, ["workflow_id", "at"])


def _fill(copy: str, entries: str, workflows: str, *, is_uuid: bool) -> None:
    target = sa.ForeignKey(f"{workflows}.id", ondelete="CASCADE")
    op.create_table(
        copy,
        sa.Column("id", _key(is_uuid=is_uuid), primary_key=True, autoincrement=not is_uuid),
        sa.Column("workflow_id", _key(is_uuid=is_uuid), target),
        sa.Column("command", name_type(40), nullable=False),
        sa.Column("actor", name_type(255)),
        sa.Column("reason", long_text()),
        sa.Column("at", Moment, nullable=False),
        sa.Column("approval_id", _key(is_uuid=is_uuid)),
        sa.Column("subject", name_type()),
    )
    kept = ("id", "workflow_id", "command", "actor", "reason", "at", "approval_id")
    old, new = (sa.table(name, *map(sa.column, kept)) for name in (entries, copy))
    op.execute(sa.insert(new).from_select(kept, sa.select(*old.c)))
