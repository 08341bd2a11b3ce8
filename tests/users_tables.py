"""Tables of a user's own beside ours, which stay in the database of the test process."""

from __future__ import annotations

from sqlalchemy import Engine, MetaData, delete


def make_empty(engine: Engine, metadata: MetaData) -> None:
    """Create the tables that are missing, and delete the rows that an earlier test left.

    MySQL takes longer to create and drop a table than most tests take.
    """
    metadata.create_all(engine)
    with engine.begin() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(delete(table))
