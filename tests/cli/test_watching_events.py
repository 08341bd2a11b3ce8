"""`geneva watch` and `geneva show` of a workflow that waits for events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.cli.commands import watch as watch_command
from geneva_drive.testing import drain
from tests.cli.conftest import Handle, Run
from tests.cli.screens import screen


@pytest.fixture
def parcel(standing: gd.Drive) -> Iterator[Handle]:
    """A parcel that waits for its goods and its bill; its class lives with the test."""

    class Parcel(gd.Workflow[Any]):
        @gd.wait_for_event(["goods.packed", "bill.paid"], mode="all", key="P1", timeout="1h")
        def complete(self, events: list[gd.Event]) -> None: ...

    workflow = Parcel.create()
    drain(standing)
    yield workflow.reload()  # noqa: PT022 - classes are known weakly; this frame keeps it


@pytest.fixture
def meanwhile(standing: gd.Drive, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Publish one event after the other, each while the watch rests between two looks."""

    def publishes(*types: str) -> None:
        coming = iter(types)

        def publish() -> None:
            standing.publish(next(coming), key="P1")
            drain(standing)

        monkeypatch.setattr(watch_command, "rest", publish)

    return publishes


AWAITED = "events 'goods.packed' and 'bill.paid' with key 'P1', until 2026-01-02 04:04:05 UTC"


def test_each_event_of_a_wait_is_a_line(
    parcel: Handle, run: Run, meanwhile: Callable[..., None]
) -> None:
    meanwhile("bill.paid", "goods.packed")

    lines = screen(run("watch", "1")).splitlines()

    assert [line.removeprefix("2026-01-02 03:04:05 UTC  ") for line in lines] == [
        "Parcel 1 is paused",
        f"Step 'complete' waits for {AWAITED}.",
        "complete, attempt 1: waiting",
        f"complete waits for {AWAITED}: 0 of 2 heard",
        f"complete waits for {AWAITED}: 1 of 2 heard (bill.paid)",
        "complete, attempt 1: success, took 0 ms",
        "Parcel 1 is finished",
        "It finished at 2026-01-02 03:04:05 UTC; nothing is left to do.",
    ]


def test_the_waits_are_in_the_json_of_the_watch(
    parcel: Handle, run: Run, meanwhile: Callable[..., None]
) -> None:
    meanwhile("bill.paid", "goods.packed")

    bodies = [json.loads(line) for line in run("watch", "1", "--json").stdout.splitlines()]

    waits = [body.get("event_waits") for body in bodies]
    assert [one and one[0]["heard"] for one in waits] == [[], ["bill.paid"], None]
    assert waits[0] == [
        {
            "step_name": "complete",
            "kind": "event",
            "types": ["goods.packed", "bill.paid"],
            "key": "P1",
            "mode": "all",
            "heard": [],
            "expires_at": "2026-01-02T04:04:05+00:00",
        }
    ]


def test_a_wait_is_shown(parcel: Handle, run: Run) -> None:
    shown = " ".join(run("show", "1").stdout.split())

    assert "complete waits for events 'goods.packed' and 'bill.paid' with key 'P1'" in shown
