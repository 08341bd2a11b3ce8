"""Only what an outcome holds is held against it, not the state of the database."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError

import geneva_drive as gd
from geneva_drive.storage.dialects.trouble import Trouble


def test_a_constraint_blames_the_value(geneva: gd.Drive) -> None:
    table = geneva.store.tables.audit_entries
    nobodys = table.insert().values(workflow_id=7, command="pause", at=geneva.clock.now())
    with pytest.raises(IntegrityError) as caught, geneva.engine.begin() as connection:
        connection.execute(nobodys)

    assert geneva.store.database.trouble_of(caught.value) is Trouble.VALUE


@pytest.mark.databases("postgresql")  # only PostgreSQL cancels a query that takes too long
def test_a_query_that_was_canceled_blames_nobody(geneva: gd.Drive) -> None:
    with geneva.engine.begin() as connection:
        connection.execute(text("SET LOCAL statement_timeout = 10"))
        with pytest.raises(DBAPIError) as caught:
            connection.execute(text("SELECT pg_sleep(5)"))
        connection.rollback()

    assert geneva.store.database.trouble_of(caught.value) is Trouble.BUSY
