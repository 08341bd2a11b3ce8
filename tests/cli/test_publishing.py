"""`geneva publish` and `geneva events`."""

from __future__ import annotations

import json
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.cli.conftest import Run


class Order(gd.Workflow[Any]):
    type_name = "test_cli_publishing.Order"

    @gd.wait_for_event("order.paid", key=lambda self: self.context["number"])
    def paid(self, event: gd.Event) -> None: ...


@pytest.fixture
def orders(standing: gd.Drive) -> list[Any]:
    created = [Order.create(context={"number": number}) for number in (1, 2)]
    drain(standing)
    return [one.id for one in created]


def test_an_event_is_published_and_what_came_of_it_is_told(orders: list[Any], run: Run) -> None:
    given = ("--key", "1", "--id", "p1", "--payload", '{"net": 5}')

    first = run("publish", "order.paid", *given)
    again = run("publish", "order.paid", *given)
    other = run("publish", "order.sent")

    near = f"Its key is not the one awaited by workflow {orders[1]}.\n"
    told = f"It lets workflow {orders[0]} continue.\n{near}"
    assert first.stdout == f"Event 1 is stored.\n{told}"
    assert again.stdout == f"cli has published 'p1' before, as event 1.\n{told}"
    assert other.stdout == (
        "Event 2 is stored.\n"
        "No workflow has heard it yet. It is kept for waits that begin before it expires.\n"
    )


def test_events_are_listed_newest_first(orders: list[Any], run: Run) -> None:
    assert run("events").stdout == ("No events are stored. `geneva publish TYPE` publishes one.\n")
    run("publish", "order.paid", "--key", "1", "--payload", '{"net": 5}')
    run("publish", "order.sent", "--source", "shop")

    listed = run("events").stdout.splitlines()
    body = json.loads(run("events", "--json", "--type", "order.paid").stdout)

    assert [line.split()[:2] for line in listed if "order." in line] == [
        ["2", "order.sent"],
        ["1", "order.paid"],
    ]
    [item] = body["items"]
    assert (item["type"], item["payload"], item["continued"]) == (
        "order.paid",
        {"net": 5},
        [orders[0]],
    )


def test_what_is_no_event_is_refused(run: Run) -> None:
    blank = run("publish", "a b")
    no_json = run("publish", "a", "--payload", "{")

    assert "must not contain blanks or '*'" in blank.stderr
    assert (blank.exit_code, no_json.exit_code) == (2, 2)
