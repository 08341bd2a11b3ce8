"""The revision with API keys and roles is added to databases that are in use."""

from __future__ import annotations

from typing import Any

from geneva_drive.storage.schema import revisions
from tests.storage.conftest import OpenDrive
from tests.storage.revising import Revision, create_tables, half_way, run
from tests.storage.schema import describe

PRESENT = Revision("0013")


@half_way([0, 1])
def test_a_migration_to_keys_that_died_half_way_is_done_again(
    count: int, empty_database_url: str, whole_schema: dict[str, Any], open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    former, this = PRESENT.statements_of(drive)
    create_tables(drive.engine, former)
    run(drive.engine, this[:count])

    assert drive.migrate() == (PRESENT.former, revisions.HEAD)

    assert describe(drive.engine) == whole_schema
