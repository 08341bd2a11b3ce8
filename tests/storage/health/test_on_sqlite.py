from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.storage.dialects.health_check import ok, problem
from tests.storage.health.findings import findings

pytestmark = pytest.mark.databases("sqlite")


def test_without_a_write_ahead_log_sqlite_has_a_problem(geneva: gd.Drive) -> None:
    before = findings(geneva, "journal")
    with geneva.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = DELETE").close()

    after = findings(geneva, "journal")

    assert before == [ok("journal", "Its mode is 'wal'.")]
    assert after == [
        problem(
            "journal",
            "Its mode is 'delete', not 'wal': readers and the writer wait for one another.",
            "Restart the processes: each turns it on when it connects. A network file system does "
            "not support it: keep the file on a local disk.",
        )
    ]
