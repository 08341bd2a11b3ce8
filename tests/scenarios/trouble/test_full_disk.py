"""The disk of the database is full for a while."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.scenarios.own_server import own_server
from tests.scenarios.soak import TROUBLE_SECONDS
from tests.scenarios.trouble.small_disk import SmallDisk, mounted, on_disk
from tests.scenarios.trouble.troubled_load import TroubledLoad
from tests.servers import KINDS, Server

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(900)]

MEGABYTES = {"sqlite": 24, "postgresql": 96, "mysql": 64}


@pytest.fixture
def disk(database: str) -> Iterator[SmallDisk]:
    # Not in pytest's folder, which only the user who runs the tests may enter.
    folder = Path(tempfile.mkdtemp(prefix="geneva-disk-"))
    folder.chmod(0o755)
    try:
        with mounted(folder / "disk", MEGABYTES[database]) as disk:
            yield disk
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def geneva_database_url(disk: SmallDisk, database: str, migrated_file: Path) -> Iterator[str]:
    with ExitStack() as stack:
        if database == "sqlite":
            shutil.copy(migrated_file, disk.path / "geneva.db")
            yield f"sqlite:///{disk.path / 'geneva.db'}"
        else:
            kind = KINDS[database]
            server = stack.enter_context(own_server(database, on_disk(kind.cook, disk)))
            yield Server(kind, server.url, "started for this test").create("geneva", durable=True)


def test_no_step_is_blamed_for_a_full_disk(
    load: TroubledLoad, disk: SmallDisk, geneva_database_url: str
) -> None:
    load.begin()
    with load.trouble():
        _empty_the_write_ahead_log(geneva_database_url)
        disk.fill()
        load.endure(TROUBLE_SECONDS)
        disk.free()

    load.judge()


def _empty_the_write_ahead_log(database_url: str) -> None:
    """Let SQLite's log be empty; else there may be room in it for the whole trouble."""
    url = make_url(database_url)
    if url.get_backend_name() == "sqlite":
        with closing(sqlite3.connect(str(url.database))) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
