"""Documents, and the columns of workflows that only documents use."""

from __future__ import annotations

import sqlalchemy as sa

from geneva_drive.storage.schema.column_types import (
    Moment,
    long_text,
    name_type,
)
from geneva_drive.storage.schema.migrations.additions import Additions

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    additions = Additions()
    additions.add_columns(
        "workflows",
        sa.Column("definition_version", name_type(100)),
        sa.Column("definition_signature", name_type(16)),
        sa.Column("result", name_type(20)),
        sa.Column("result_reason", long_text()),
        sa.Column("expires_at", Moment),
    )
    additions.index("workflows", "expiry", ["expires_at"], sa.column("expires_at").is_not(None))
    additions.create(
        "definitions",
        additions.id(),
        sa.Column("name", name_type(), nullable=False),
        sa.Column("version", name_type(100), nullable=False),
        sa.Column("signature", name_type(16), nullable=False),
        sa.Column("content_hash", name_type(64), nullable=False),
        sa.Column("document", long_text(), nullable=False),
        sa.Column("title", long_text(), nullable=False),
        sa.Column("trigger_event", name_type()),
        sa.Column("is_scheduled", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("current_since", Moment, nullable=False),
        sa.Column("is_enabled", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("deployed_by", name_type(255)),
        additions.unique("definitions", "version", "name", "version"),
    )
    additions.index("definitions", "signature", ["name", "signature"])
