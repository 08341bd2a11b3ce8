"""A durable server of the tests' own, which they may break."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.private_servers import Cook, CrashingServer, DidNotStart, crashing_server
from tests.servers import KINDS


@contextmanager
def own_server(database: str, cook: Cook | None = None) -> Iterator[CrashingServer]:
    """Run a server until the block ends; skip the test where that is impossible."""
    kind = KINDS[database]
    try:
        with crashing_server(cook or kind.cook) as server:
            if server is None:
                pytest.skip(f"The programs of {kind.label} are not installed.")
            yield server
    except DidNotStart as reason:
        if os.environ.get("CI", "").lower() == "true":
            raise
        pytest.skip(f"No server of our own can be started here: {reason}")
