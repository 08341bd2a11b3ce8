from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

import geneva_drive as gd

Ask = Callable[..., TestClient]


@pytest.fixture
def sqlite_drive(migrated_sqlite_url: str) -> Iterator[gd.Drive]:
    drive = gd.Drive(migrated_sqlite_url, public_url="https://shop.example")
    yield drive
    drive.close()


@pytest.fixture
def ask(geneva: gd.Drive) -> Ask:
    """A client with a key of these roles and permissions, named after its holder."""
    return client_maker(geneva)


@pytest.fixture
def ask_sqlite(sqlite_drive: gd.Drive) -> Ask:
    return client_maker(sqlite_drive)


def client_maker(drive: gd.Drive, **options: Any) -> Ask:
    app = gd.asgi(drive, **options)

    def make(*roles: str, name: str = "ann", permissions: tuple[str, ...] = ()) -> TestClient:
        client = TestClient(app, raise_server_exceptions=False)
        if roles or permissions:
            key = drive.keys.create(name, permissions, roles)
            client.headers["Authorization"] = f"Bearer {key.secret}"
        return client

    return make
