"""The tables that loops over QuerySets read, on every database."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest


@pytest.fixture(scope="session")
def library_database(
    database: str,
    create_database: Callable[[str, str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    # Without Django, skip the test and not the whole folder.
    from tests.iteration import library

    if database == "sqlite":
        address = f"sqlite:///{tmp_path_factory.mktemp('library') / 'library.db'}"
    else:
        address = create_database(database, "library")
    with library.opened(database, address):
        yield


@pytest.fixture
def library(library_database: None) -> None:
    """Seven authors; three of them have written two books each."""
    from tests.iteration.library import fill

    fill()
