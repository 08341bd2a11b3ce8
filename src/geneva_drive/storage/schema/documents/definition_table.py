"""The table of documents, with every deployed version."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Index, Table, UniqueConstraint, false, true

from geneva_drive.storage.schema.column_types import Moment, long_text, name_type
from geneva_drive.storage.schema.table_builder import TableBuilder


def definitions(builder: TableBuilder) -> Table:
    """Versions of documents. The text of a version never changes; a workflow keeps its version."""
    return builder.table(
        "definitions",
        builder.key(),
        Column("name", name_type(), nullable=False),  # the document's workflow_id
        Column("version", name_type(100), nullable=False),
        Column("signature", name_type(16), nullable=False),  # the beginning of the hash
        Column("content_hash", name_type(64), nullable=False),
        Column("document", long_text(), nullable=False),  # in its normal form
        Column("title", long_text(), nullable=False),
        # The event that starts a workflow of the document, and whether a schedule does.
        Column("trigger_event", name_type()),
        Column("is_scheduled", Boolean, nullable=False, server_default=false()),
        Column("current_since", Moment, nullable=False),  # the version with the latest is current
        Column("is_enabled", Boolean, nullable=False, server_default=true()),
        Column("created_at", Moment, nullable=False),
        Column("deployed_by", name_type(255)),
        UniqueConstraint("name", "version", name=f"{builder.prefix}definitions_version"),
        Index(f"{builder.prefix}definitions_signature", "name", "signature"),
    )
