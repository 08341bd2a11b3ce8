"""API keys and roles, and an index of failed executions."""

from __future__ import annotations

import sqlalchemy as sa

from geneva_drive.storage.schema.column_types import Moment, long_text, name_type
from geneva_drive.storage.schema.migrations.additions import Additions

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    additions = Additions()
    additions.create(
        "api_keys",
        sa.Column("id", name_type(32), primary_key=True),
        sa.Column("name", name_type(255), nullable=False),
        sa.Column("permissions", long_text(), nullable=False),
        sa.Column("roles", long_text(), nullable=False),
        sa.Column("secret_hash", name_type(64), nullable=False),
        sa.Column("former_hash", name_type(64)),
        sa.Column("former_expires_at", Moment),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("expires_at", Moment),
        sa.Column("revoked_at", Moment),
        sa.Column("last_used_at", Moment),
    )
    additions.create(
        "roles",
        sa.Column("name", name_type(), primary_key=True),
        sa.Column("permissions", long_text(), nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
    )
    _index_failures(additions)


def _index_failures(additions: Additions) -> None:
    column = "finished_at"
    if additions.is_mysql:
        # MySQL has no partial indexes. A completion does not change a column that remains NULL.
        column = "failed_at"
        marks = sa.Computed("CASE WHEN state = 'failed' THEN finished_at END", persisted=True)
        additions.add_columns("step_executions", sa.Column(column, Moment, marks))
    failed = sa.column("state") == sa.literal_column("'failed'")
    additions.index("step_executions", "failed", [column], failed)
