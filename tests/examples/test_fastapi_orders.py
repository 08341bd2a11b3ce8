"""The example starts with one command, and its curl lines work."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.web.serving import curl

ROOT = Path(__file__).parents[2]
IS_JSON = ("-H", "Content-Type: application/json")
OLGA, MARY = ("--user", "olga:olga"), ("--user", "mary:mary")


@pytest.fixture
def shop(empty_database_url: str) -> Iterator[str]:
    """The example on each database that it names."""
    with running(empty_database_url) as url:
        yield url


@pytest.fixture
def sqlite_shop(tmp_path: Path) -> Iterator[str]:
    with running(f"sqlite:///{tmp_path / 'orders.db'}") as url:
        yield url


@contextmanager
def running(database_url: str) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {"GENEVA_DATABASE_URL": database_url, "PORT": str(port)}
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "examples.fastapi_orders"],
        cwd=ROOT,
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "Uvicorn running" in line:
            break
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.communicate(timeout=30)


def wait_for(shop: str, order: int, part: str) -> dict[str, Any]:
    """Look at an order until the worker has come so far; the test has a time limit."""
    while part not in str(found := curl(f"{shop}/orders/{order}")[1]):
        time.sleep(0)
    return dict(found)


@pytest.mark.scenario
def test_an_order_is_placed_paid_and_shipped(shop: str) -> None:
    placed = curl(f"{shop}/orders", *IS_JSON, "-d", '{"customer": "ada", "total": 80}')
    paid = curl(f"{shop}/orders/1/payment", "-X", "POST")
    again = curl(f"{shop}/orders/1/payment", "-X", "POST")
    order = wait_for(shop, 1, "shipped")
    seen = curl(f"{shop}/geneva/api/v1/executions", *OLGA)
    stranger = curl(f"{shop}/geneva/api/v1/executions", "--user", "olga:wrong")

    assert placed == (201, {"order": 1, "workflow": 1})
    assert (paid[1]["duplicate"], again[1]["duplicate"]) == (False, True)
    assert order["why"].startswith("Step 'ask_for_review' runs at ")
    assert [one["hero_id"] for one in seen[1]["items"]] == ["1"]
    assert stranger[0] == 401


@pytest.mark.scenario
def test_a_large_order_waits_for_a_manager(sqlite_shop: str) -> None:
    shop = sqlite_shop
    curl(f"{shop}/orders", *IS_JSON, "-d", '{"customer": "ada", "total": 900}')
    wait_for(shop, 1, "waits for a decision")
    approvals = f"{shop}/geneva/api/v1/approvals"
    [asked] = curl(f"{approvals}?mine=true", *MARY)[1]["items"]
    refused = curl(f"{approvals}/{asked['id']}/approve", "-X", "POST", *OLGA)
    approved = curl(f"{approvals}/{asked['id']}/approve", "-X", "POST", *MARY)
    waiting = wait_for(shop, 1, "order.paid")

    assert asked["title"] == "Deliver an order of 900 euros to ada?"
    assert (refused[0], approved[1]["decided_by"]) == (403, "mary")
    assert waiting["status"] == "new"
    assert urlopen(f"{shop}/geneva/health").status == 200
