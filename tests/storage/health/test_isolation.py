from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

import geneva_drive as gd
from geneva_drive.storage.dialects.health_check import ok, problem
from tests.storage.conftest import OpenDrive
from tests.storage.health.findings import findings


@pytest.mark.databases("postgresql", "mysql")
def test_another_isolation_than_read_committed_is_a_problem(
    geneva: gd.Drive,
    geneva_database_url: str,
    open_engine: Callable[..., Engine],
    open_drive: OpenDrive,
) -> None:
    engine = open_engine(geneva_database_url).execution_options(isolation_level="SERIALIZABLE")
    drive = open_drive(engine)

    assert findings(geneva, "isolation") == [ok("isolation", "It is READ COMMITTED.")]
    assert findings(drive, "isolation") == [
        problem(
            "isolation",
            "It is SERIALIZABLE, not READ COMMITTED: workers wait for one another, or fail and try "
            "again.",
            "Remove isolation_level from create_engine(...), and restore the server's default.",
        )
    ]
