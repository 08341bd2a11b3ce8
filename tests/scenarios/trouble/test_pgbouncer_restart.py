"""PgBouncer, between the workers and PostgreSQL, is ended and started again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import make_url

from tests.private_servers import CrashingServer, crashing_server, pgbouncer
from tests.scenarios.soak import TROUBLE_SECONDS
from tests.scenarios.trouble.troubled_load import TroubledLoad

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.timeout(900),
    pytest.mark.databases("postgresql"),
]


@pytest.fixture
def bouncer(server: CrashingServer) -> Iterator[CrashingServer]:
    with crashing_server(pgbouncer(server.url, "transaction")) as bouncer:
        if bouncer is None:
            pytest.skip("PgBouncer is not installed.")
        yield bouncer


@pytest.fixture
def worker_url(bouncer: CrashingServer, geneva_database_url: str) -> str:
    there = bouncer.url.set(database=make_url(geneva_database_url).database)
    return there.render_as_string(hide_password=False)


def test_no_step_is_blamed_for_a_restart_of_the_pooler(
    load: TroubledLoad, bouncer: CrashingServer
) -> None:
    load.begin()
    with load.trouble():
        bouncer.crash()
        load.endure(TROUBLE_SECONDS)
        bouncer.start()

    load.judge()
