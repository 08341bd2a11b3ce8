"""Where resumable steps stand, and the checkpoints that they have passed."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from geneva_drive.storage.types import Moment, big_integer_key, long_text, name_type, uuid_key

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    context = op.get_context()
    plan = context.config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    inspector = None if plan.connection is None else sa.inspect(plan.connection)
    executions, checkpoints = f"{plan.prefix}step_executions", f"{plan.prefix}checkpoints"
    # MySQL commits each statement, and a try before this one may have died between two.
    present = set() if inspector is None else {c["name"] for c in inspector.get_columns(executions)}
    for column in _columns():
        if column.name not in present:
            op.add_column(executions, column)
    if inspector is None or not inspector.has_table(checkpoints):
        _create(plan.prefix, checkpoints, uuid=plan.key_type == "uuid")


def _columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("cursor", long_text()),
        sa.Column(
            "completed_iterations", sa.BigInteger, nullable=False, server_default=sa.text("0")
        ),
        sa.Column("item_errors", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("progress", long_text()),
        sa.Column("share", long_text()),
    ]


def _create(prefix: str, name: str, *, uuid: bool) -> None:
    kind = uuid_key() if uuid else big_integer_key()
    op.create_table(
        name,
        sa.Column("id", kind, primary_key=True, autoincrement=not uuid),
        sa.Column(
            "workflow_id",
            kind,
            sa.ForeignKey(f"{prefix}workflows.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("execution_id", kind, nullable=False),
        sa.Column("cursor", long_text()),
        sa.Column("completed_iterations", sa.BigInteger, nullable=False),
        sa.Column("reason", name_type(40), nullable=False),
        sa.Column("item", long_text()),
        sa.Column("error_class", name_type(255)),
        sa.Column("error_message", long_text()),
        sa.Column("at", Moment, nullable=False),
        # Made with the table, so that a try that died cannot leave them out.
        sa.Index(f"{name}_execution", "execution_id", "id"),
        sa.Index(f"{name}_workflow", "workflow_id"),
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
        mariadb_engine="InnoDB",
        mariadb_charset="utf8mb4",
    )
