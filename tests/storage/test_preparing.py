"""When psycopg prepares statements is said in the database's URL, as psycopg itself would."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from tests.servers import with_query
from tests.storage.conftest import OpenDrive


@pytest.mark.databases("postgresql")  # only psycopg prepares statements
@pytest.mark.parametrize(
    ("query", "expected"),
    [({}, 5), ({"prepare_threshold": "0"}, 0), ({"prepare_threshold": "none"}, None)],
)
def test_a_url_says_after_how_many_uses_to_prepare_a_statement(
    query: dict[str, str],
    expected: int | None,
    geneva_database_url: str,
    open_drive: OpenDrive,
) -> None:
    drive = open_drive(with_query(geneva_database_url, **query))

    with drive.engine.connect() as connection:
        driver: Any = connection.connection.driver_connection

        assert driver.prepare_threshold == expected


def test_a_number_of_uses_that_is_none_is_refused() -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        gd.Drive("postgresql://host/name?prepare_threshold=never")

    assert str(refusal.value) == (
        "prepare_threshold='never' in the database URL is neither a number of uses nor 'none'."
    )
