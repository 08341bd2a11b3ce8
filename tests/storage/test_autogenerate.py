"""A user's own Alembic leaves our tables alone."""

from __future__ import annotations

from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column, Integer, MetaData, Table

from geneva_drive.storage.schema.autogenerate import include_object
from tests.storage.conftest import OpenDrive


def differences(drive: Any, metadata: MetaData, **options: Any) -> list[Any]:
    """Give the kind and the table of each change that autogenerate proposes."""
    with drive.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        return [(change[0], change[1].name) for change in compare_metadata(context, metadata)]


@pytest.mark.parametrize("prefix", ["geneva_drive_", "jobs_"])
def test_autogenerate_proposes_only_the_users_changes(
    prefix: str, empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url, table_prefix=prefix)
    drive.migrate()
    metadata = MetaData()
    Table("users", metadata, Column("id", Integer, primary_key=True))

    proposed = differences(drive, metadata, include_object=include_object(prefix))

    assert proposed == [("add_table", "users")]


def test_autogenerate_would_drop_our_tables_without_it(
    migrated_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(migrated_database_url)

    proposed = differences(drive, MetaData())

    assert ("remove_table", "geneva_drive_workflows") in proposed


def test_a_table_of_ours_that_users_map_for_reading_is_not_changed(
    migrated_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(migrated_database_url)
    metadata = MetaData()
    Table("geneva_drive_workflows", metadata, Column("id", Integer, primary_key=True))

    proposed = differences(drive, metadata, include_object=include_object())

    assert proposed == []
