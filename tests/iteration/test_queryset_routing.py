"""Loops over QuerySets that Django's routers send to another database for reading."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from geneva_drive.iteration.sources.querysets import QuerySetRecords
from geneva_drive.iteration.sources.records import batch_pairs
from tests.iteration.library import Author, connections, ids, routing

pytestmark = pytest.mark.usefixtures("library", "replica")


class ReadingFromTheReplica:
    def db_for_read(self, model: type, **hints: Any) -> str:
        return "replica"

    def db_for_write(self, model: type, **hints: Any) -> str:
        return "default"


@pytest.fixture
def replica(library: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Open the library's database a second time, for reading only."""
    default = connections.settings["default"]
    settings = {**default, "NAME": f"file:{default['NAME']}?mode=ro", "OPTIONS": {"uri": True}}
    monkeypatch.setitem(connections.settings, "replica", settings)
    monkeypatch.setattr(routing, "routers", [ReadingFromTheReplica()])
    yield
    connections["replica"].close()
    del connections["replica"]


@pytest.mark.databases("sqlite")
def test_a_batch_that_is_read_from_a_replica_is_updated_where_django_writes() -> None:
    batch, _ = next(batch_pairs(QuerySetRecords(Author.objects.filter(rating=3)), None, 2))

    assert batch.update(rating=8) == 2

    assert ids(Author.objects.using("default").filter(rating=8)) == [1, 3]
    assert [author.id for author in batch.where.order_by("id")] == [1, 3]


@pytest.mark.databases("sqlite")
def test_a_batch_of_a_database_that_the_queryset_names_stays_there() -> None:
    authors = Author.objects.using("default")
    batch, _ = next(batch_pairs(QuerySetRecords(authors), None, 2))

    assert batch.where.db == "default"
