"""The tables of API keys and of roles."""

from __future__ import annotations

from sqlalchemy import Column, Table

from geneva_drive.storage.schema.column_types import Moment, long_text, name_type
from geneva_drive.storage.schema.table_builder import TableBuilder


def api_keys(builder: TableBuilder) -> Table:
    """The keys of programs, found by the id in the secret; the secret is stored as a hash."""
    return builder.table(
        "api_keys",
        Column("id", name_type(32), primary_key=True),
        Column("name", name_type(255), nullable=False),
        Column("permissions", long_text(), nullable=False),  # a JSON list
        Column("roles", long_text(), nullable=False),  # a JSON list
        Column("secret_hash", name_type(64), nullable=False),
        Column("former_hash", name_type(64)),  # of the secret before the last rotation
        Column("former_expires_at", Moment),
        Column("created_at", Moment, nullable=False),
        Column("expires_at", Moment),
        Column("revoked_at", Moment),
        Column("last_used_at", Moment),
    )


def roles(builder: TableBuilder) -> Table:
    """The roles that an installation defined, in addition to the built-in ones."""
    return builder.table(
        "roles",
        Column("name", name_type(), primary_key=True),
        Column("permissions", long_text(), nullable=False),  # a JSON list
        Column("updated_at", Moment, nullable=False),
    )
