"""The role of the workers loses rights, meets locked tables, or finds no free connection."""

from __future__ import annotations

import pytest

from tests.scenarios.soak import TROUBLE_SECONDS
from tests.scenarios.trouble.troubled_load import TroubledLoad
from tests.scenarios.trouble.worker_role import EXECUTIONS, HERO_TABLE, WorkerRole

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.timeout(900),
    pytest.mark.databases("postgresql", "mysql"),
]


@pytest.fixture
def worker_url(role: WorkerRole) -> str:
    return role.url


def test_no_step_is_blamed_for_rights_that_are_revoked(
    load: TroubledLoad, role: WorkerRole
) -> None:
    for tables in (role.library_tables(), [HERO_TABLE]):
        load.begin()
        with load.trouble():
            role.revoke(tables)
            load.endure(TROUBLE_SECONDS)
            role.grant(tables)

    load.judge()


def test_no_step_is_blamed_for_statements_that_time_out_under_a_lock(
    load: TroubledLoad, role: WorkerRole
) -> None:
    role.limit_statements()
    for table in (EXECUTIONS, HERO_TABLE):
        load.begin()
        with load.trouble(), role.locked(table):
            load.endure(TROUBLE_SECONDS)

    load.judge()


def test_no_step_is_blamed_for_a_server_without_free_connections(
    load: TroubledLoad, role: WorkerRole
) -> None:
    load.begin()
    with load.trouble(), role.no_free_connections():
        load.endure(TROUBLE_SECONDS)

    load.judge()
