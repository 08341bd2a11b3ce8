"""The load of every kind of step, on a server that a test may break."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import geneva_drive as gd
from tests.private_servers import Cook, CrashingServer, Recipe
from tests.scenarios.own_server import own_server
from tests.scenarios.trouble import batch
from tests.scenarios.trouble.troubled_load import APPLICATION, TroubledLoad
from tests.scenarios.trouble.worker_role import WorkerRole
from tests.servers import KINDS, Server


@pytest.fixture
def application(geneva: gd.Drive) -> Iterator[ModuleType]:
    """The load's classes, which other tests of this process must not know."""
    module = importlib.import_module(APPLICATION)
    batch.prepare(geneva, module)
    yield module
    del sys.modules[APPLICATION]


@pytest.fixture(scope="session")
def server(database: str) -> Iterator[CrashingServer]:
    """A server for all these tests of one process: each leaves it as it was."""
    with own_server(database, with_few_connections(KINDS[database].cook)) as server:
        yield server


def with_few_connections(cook: Cook) -> Cook:
    """Let a server of PostgreSQL have so few connections that a test can take all of them."""

    def make(directory: Path, port: int) -> Recipe | None:
        recipe = cook(directory, port)
        if recipe is None or recipe.account != "postgres":
            return recipe
        return replace(recipe, serve=[*recipe.serve, "-c", "max_connections=60"])

    return make


@pytest.fixture
def geneva_database_url(server: CrashingServer, database: str) -> str:
    own = Server(KINDS[database], server.url, "started for this test")
    return own.create("geneva", durable=True)


@pytest.fixture
def role(application: ModuleType, geneva_database_url: str) -> WorkerRole:
    return WorkerRole(geneva_database_url)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


@pytest.fixture
def worker_url(geneva_database_url: str) -> str:
    """How the workers reach the database; the tests themselves use `geneva_database_url`."""
    return geneva_database_url


@pytest.fixture
def load(
    geneva: gd.Drive,
    application: ModuleType,
    worker_url: str,
    notes: Path,
    chance: random.Random,
) -> Iterator[TroubledLoad]:
    load = TroubledLoad(geneva, application, worker_url, notes=notes, chance=chance)
    yield load
    load.clean_up()
