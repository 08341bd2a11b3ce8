"""A migration that died between two statements of a revision is done again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from geneva_drive.storage.schema import revisions
from tests.storage.conftest import OpenDrive
from tests.storage.revising import Revision, create_tables, half_way, run
from tests.storage.schema import describe

# By revision: after how many of its statements. Columns, indexes and tables are each added if they
# are missing; somewhere in each list, one kind is there in part.
_STATEMENTS: dict[str, Sequence[int]] = {
    "0002": (1, 3, 4, 9),
    "0003": range(8),
    "0004": range(9),
    "0006": range(2),
    "0008": range(2),
    "0009": (1, 2, 5, 12),
    "0011": (0, 1, 3),
    "0013": (0, 1),
    "0014": (0, 1, 2),
    "0015": (0, 1),
    "0016": (0, 1, 3, 7),
    "0017": (1, 3, 4, 5),
    "0018": (0, 1),
}
_IN_EVERY_PLACE = ("0003", "0004", "0006", "0008")


@half_way(
    "name, count", [(name, count) for name, counts in _STATEMENTS.items() for count in counts]
)
def test_a_migration_that_died_half_way_is_done_again(
    name: str,
    count: int,
    empty_database_url: str,
    whole_schema: dict[str, Any],
    open_drive: OpenDrive,
) -> None:
    drive, revision = open_drive(empty_database_url), Revision(name)
    former, this = revision.statements_of(drive)
    create_tables(drive.engine, former)
    run(drive.engine, this[:-1][:count])  # the last one says that it is done

    assert drive.migrate() == (revision.former, revisions.HEAD)

    assert describe(drive.engine) == whole_schema


@pytest.mark.parametrize("name", _IN_EVERY_PLACE)
def test_no_statement_of_these_revisions_was_left_out_above(
    name: str, empty_database_url: str, open_drive: OpenDrive
) -> None:
    _, this = Revision(name).statements_of(open_drive(empty_database_url))

    assert set(range(len(this))) <= set(_STATEMENTS[name])
    assert f"'{name}'" in this[-1]
