"""The database server is ended without warning, again and again, and started again."""

from __future__ import annotations

import random

import pytest

from tests.private_servers import CrashingServer
from tests.scenarios.soak import RESTARTS
from tests.scenarios.trouble.troubled_load import TroubledLoad

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.timeout(900),
    pytest.mark.databases("postgresql", "mysql"),
]


def test_no_step_is_blamed_for_a_restart_of_the_server(
    load: TroubledLoad, server: CrashingServer, chance: random.Random
) -> None:
    for _ in range(RESTARTS):
        load.begin()
        with load.trouble():
            server.crash()
            load.endure(chance.uniform(0, 1))
            server.start()

    load.judge()
